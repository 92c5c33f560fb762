package preference

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
)

// modified is the start of an event about a changed object, as kube-apiserver encodes it.
var modified = []byte(`{"type":"MODIFIED","object":{`) //nolint:gochecknoglobals // It is constant.

// events are the events of a watch. They are written by one goroutine, each with one call of Write.
type events struct {
	http.ResponseWriter

	begun, json bool
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (e *events) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (e *events) WriteHeader(status int) {
	if !e.begun && status >= http.StatusOK {
		e.begun = true
		header := e.Header()
		mediaType, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
		e.json = status == http.StatusOK && mediaType == runtime.ContentTypeJSON && header.Get("Content-Encoding") == ""
		if e.json {
			header.Set(appliedHeader, observedSpec)
		}
	}
	e.ResponseWriter.WriteHeader(status)
}

// Flush implements http.Flusher.
func (e *events) Flush() {
	if !e.begun {
		e.WriteHeader(http.StatusOK)
	}
	_ = http.NewResponseController(e.ResponseWriter).Flush() // the wrapper already tells callers whether flushing is supported
}

// Write implements http.ResponseWriter.
func (e *events) Write(p []byte) (int, error) {
	if !e.begun {
		e.WriteHeader(http.StatusOK)
	}
	if e.json {
		if short := withoutObservedSpec(p); short != nil {
			if _, err := e.ResponseWriter.Write(short); err != nil {
				return 0, err
			}
			return len(p), nil
		}
	}
	return e.ResponseWriter.Write(p)
}

// withoutObservedSpec returns an event without the spec of its object, if the status has observed the generation;
// otherwise nil.
func withoutObservedSpec(event []byte) []byte {
	if !bytes.HasPrefix(event, modified) {
		return nil
	}
	var metadata struct {
		Generation int64 `json:"generation"`
	}
	var status struct {
		ObservedGeneration int64 `json:"observedGeneration"`
	}
	at := len(modified)
	from, to := 0, 0
	for {
		key, value, end := memberBounds(event, at)
		if end < 0 {
			return nil
		}
		var err error
		switch string(event[at:key]) {
		case `"metadata"`:
			err = json.Unmarshal(event[value:end], &metadata)
		case `"status"`:
			err = json.Unmarshal(event[value:end], &status)
		case `"spec"`:
			from, to = at, end
		}
		if err != nil || end >= len(event) {
			return nil
		}
		if at = end + 1; event[end] != ',' {
			break
		}
		if to == end { // including the comma
			to = at
		}
	}
	if to == 0 || metadata.Generation == 0 || status.ObservedGeneration != metadata.Generation {
		return nil
	}
	if event[at-1] != '}' || !bytes.Equal(bytes.TrimSpace(event[at:]), []byte("}")) {
		return nil
	}
	if event[to-1] != ',' && event[from-1] == ',' { // it was the last member
		from--
	}
	return append(append(make([]byte, 0, len(event)-to+from), event[:from]...), event[to:]...)
}

// memberBounds returns the end of the key of an object's member, and the start and end of its value; -1 if it is
// incomplete.
func memberBounds(text []byte, at int) (key, value, end int) {
	if at >= len(text) || text[at] != '"' {
		return -1, -1, -1
	}
	if key = endOfValue(text, at); key < 0 || key >= len(text) || text[key] != ':' {
		return -1, -1, -1
	}
	return key, key + 1, endOfValue(text, key+1)
}

// endOfValue returns the end of a JSON value without surrounding spaces, as encoded by a library; -1 if it is
// incomplete.
func endOfValue(text []byte, at int) int {
	depth := 0
	for ; at < len(text); at++ {
		switch text[at] {
		case '"':
			if at = endOfString(text, at+1); at < 0 {
				return -1
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth--; depth < 0 {
				return at // the end of a number that is the last value
			}
		case ',':
			if depth == 0 {
				return at
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return at + 1
		}
	}
	return -1
}

// endOfString returns the position of the closing quote of a string.
func endOfString(text []byte, at int) int {
	for ; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at
		}
	}
	return -1
}
