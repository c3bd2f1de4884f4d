"""Extracts what `tests/unit/test_shapes_match_aws.py` needs of the last botocore model that speaks the Query protocol:

    <python with botocore 1.31.80> tests/data/extract_query_model.py > tests/data/sqs_query_model.json

For each structure its members with their element names (of a list: its elements' name; of a map: the names of element,
key and value), for each action its structures, for each error its code and status. Imports nothing of this project.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import botocore
import botocore.session


def element_names(member: Any, name: str) -> list[str]:
    """Of a member: [element] or, for a map, [element, key, value]."""
    if member.type_name == "list":
        return [member.member.serialization.get("name", name)]
    element = member.serialization.get("name", name)
    if member.type_name == "map":
        return [element, member.key.serialization.get("name", "key"), member.value.serialization.get("name", "value")]
    return [element]


def main() -> None:
    model = botocore.session.get_session().get_service_model("sqs")
    assert model.metadata["protocol"] == "query", "this botocore speaks JSON: take 1.31.80"
    shapes = [model.shape_for(name) for name in model.shape_names]
    structures = {
        shape.name: {name: element_names(member, name) for name, member in shape.members.items()}
        for shape in shapes
        if shape.type_name == "structure" and not shape.metadata.get("exception")
    }
    operations = {}
    for name in model.operation_names:
        operation = model.operation_model(name)
        output = operation.output_shape
        operations[name] = {"input": operation.input_shape.name, "output": output and output.name}
    errors = {shape.name: shape.metadata.get("error", {}) for shape in shapes if shape.metadata.get("exception")}
    extracted = {
        "botocore": botocore.__version__,
        "operations": operations,
        "structures": structures,
        "errors": errors,
    }
    json.dump(extracted, sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")


main()
