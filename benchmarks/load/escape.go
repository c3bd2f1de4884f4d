package main

import "bytes"

// Escaping of text in forms, XML and JSON.

func appendFormEscaped(dst, text []byte) []byte {
	for _, c := range text {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.', c == '~':
			dst = append(dst, c)
		default:
			dst = append(dst, '%', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
		}
	}
	return dst
}

var xmlEntities = [...][2]string{{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", `"`}, {"&#34;", `"`}, {"&apos;", "'"},
	{"&#39;", "'"}, {"&amp;", "&"}}

func unescapeXML(text []byte) []byte {
	if bytes.IndexByte(text, '&') < 0 {
		return text
	}
	for _, pair := range xmlEntities {
		text = bytes.ReplaceAll(text, []byte(pair[0]), []byte(pair[1]))
	}
	return text
}

// unescapeJSON undoes the escapes that a response may have in a URL.
func unescapeJSON(text []byte) string {
	return string(bytes.ReplaceAll(text, []byte(`\/`), []byte("/")))
}
