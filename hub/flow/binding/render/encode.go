package render

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// encode gives the same result as json.Marshal of the content of an object, without reflection, which took half of the time of rendering.
func encode(content map[string]any) ([]byte, error) {
	const usual = 4 << 10
	return appendValue(make([]byte, 0, usual), content)
}

func appendValue(out []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(out, "null"...), nil
	case bool:
		return strconv.AppendBool(out, v), nil
	case int64:
		return strconv.AppendInt(out, v, 10), nil
	case string:
		return appendString(out, v)
	case []any:
		if v != nil {
			return appendList(out, v)
		}
	case map[string]any:
		if v != nil {
			return appendMap(out, v)
		}
	}
	return appendOther(out, value)
}

func appendList(out []byte, list []any) (_ []byte, err error) {
	out = append(out, '[')
	for i, value := range list {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = appendValue(out, value); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

func appendMap(out []byte, content map[string]any) (_ []byte, err error) {
	keys := make([]string, 0, len(content))
	for key := range content {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	out = append(out, '{')
	for i, key := range keys {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = appendString(out, key); err != nil {
			return nil, err
		}
		if out, err = appendValue(append(out, ':'), content[key]); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// appendString writes strings that need no escaping itself, which are nearly all.
func appendString(out []byte, text string) ([]byte, error) {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return appendOther(out, text)
		}
	}
	out = append(out, '"')
	out = append(out, text...)
	return append(out, '"'), nil
}

func appendOther(out []byte, value any) ([]byte, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", value, err)
	}
	return append(out, raw...), nil
}
