module cqs/benchmarks/load

go 1.22
