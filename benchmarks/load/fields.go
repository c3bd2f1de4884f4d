package main

import "bytes"

// fields iterates over the text members of a response at any depth: `"Key": "text"` in JSON, `<Key>text</Key>` in XML.
// The text is still escaped, as on the wire. A load generator needs no more of a response.
type fields struct {
	rest  []byte
	isXML bool
	key   []byte
	value []byte
}

func (f *fields) next() bool {
	if f.isXML {
		return f.nextElement()
	}
	return f.nextMember()
}

func (f *fields) nextMember() bool {
	for {
		key, after, found := quoted(f.rest)
		if !found {
			return false
		}
		f.rest = after
		after = bytes.TrimLeft(after, " \n\t\r")
		if len(after) == 0 || after[0] != ':' {
			continue
		}
		after = bytes.TrimLeft(after[1:], " \n\t\r")
		if len(after) == 0 || after[0] != '"' {
			continue
		}
		f.key = key
		f.value, f.rest, found = quoted(after)
		return found
	}
}

// quoted returns the next JSON string, without its quotes.
func quoted(text []byte) (inside, after []byte, found bool) {
	start := bytes.IndexByte(text, '"') + 1
	if start == 0 {
		return nil, nil, false
	}
	for end := start; ; end++ {
		step := bytes.IndexByte(text[end:], '"')
		if step < 0 {
			return nil, nil, false
		}
		end += step
		slashes := 0
		for text[end-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return text[start:end], text[end+1:], true
		}
	}
}

func (f *fields) nextElement() bool {
	for {
		open := bytes.IndexByte(f.rest, '<')
		if open < 0 {
			return false
		}
		f.rest = f.rest[open+1:]
		stop := bytes.IndexByte(f.rest, '>')
		if stop < 0 {
			return false
		}
		name, text := f.rest[:stop], f.rest[stop+1:]
		end := bytes.IndexByte(text, '<')
		if end < 0 {
			return false
		}
		f.rest = text[end:]
		closing := text[end:]
		if len(closing) > len(name)+2 && closing[1] == '/' && bytes.HasPrefix(closing[2:], name) {
			f.key, f.value = name, text[:end]
			return true
		}
	}
}
