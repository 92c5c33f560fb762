package failover

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// longestPath is the greatest length of a rule's jsonPath in characters, as in the CRD schema.
const longestPath = 256

// The grammar of a jsonPath. The admission policy for propagation policies has the same expression.
const (
	// fieldName is the name of a field. Characters that would end it can be escaped with a backslash.
	fieldName = `(?:[^\s.,\[\]$@{}\\*\x22\x27]|\\[^\s\x22\x27])+`
	// step is a field, a field in brackets, an element of a list by index, or the element of which a field has a value.
	step = ` *(?:\.(` + fieldName + `)|\[\x27(` + fieldName + `(?:\.` + fieldName + `)*)\x27\]|\[(-?[0-9]{1,6})\]|` +
		`\[\?\( *@\.([-_A-Za-z0-9]+) *== *(?:\x22([^\x22\\]*)\x22|\x27([^\x27\\]*)\x27) *\)\])`
	pathPattern = `^\{ *[$@]?(?:` + step + `)+ *\}$`
)

var (
	wholePath = regexp.MustCompile(pathPattern)
	oneStep   = regexp.MustCompile(step)
	oneName   = regexp.MustCompile(fieldName)
)

// errNoPath describes the valid syntax.
var errNoPath = errors.New("it must lead to one value by fields and indexes, in at most 256 characters, such as { .jobStatus.jobID }, { .jobs[0]['id'] } " +
	"or { .conditions[?(@.type==\"Ready\")].status }: correct the policy")

// walk follows a jsonPath to one value. The syntax is the part of kubectl's that leads to a single value. The rest
// allows expressions that double the result every few characters, and this runs in the hub for anybody who may write a
// policy.
func walk(from any, path string) (any, error) {
	if utf8.RuneCountInString(path) > longestPath || !wholePath.MatchString(path) {
		return nil, errNoPath
	}
	at := from
	for _, s := range oneStep.FindAllStringSubmatch(path, -1) {
		var err error
		switch field, inBrackets, index, key := s[1], s[2], s[3], s[4]; {
		case key != "":
			at, err = elementWith(at, key, s[5]+s[6])
		case index != "":
			at, err = element(at, index)
		default:
			at, err = fields(at, oneName.FindAllString(field+inBrackets, -1))
		}
		if err != nil {
			return nil, err
		}
	}
	return at, nil
}

// fields descends through the named fields.
func fields(at any, names []string) (any, error) {
	for _, name := range names {
		name = strings.ReplaceAll(name, `\`, "")
		object, _ := at.(map[string]any)
		below, ok := object[name]
		if !ok {
			return nil, fmt.Errorf("%s is not found", name)
		}
		at = below
	}
	return at, nil
}

// element returns the element of a list at an index; a negative one counts from the end.
func element(at any, index string) (any, error) {
	list, ok := at.([]any)
	if !ok {
		return nil, fmt.Errorf("the value before [%s] is not a list", index)
	}
	i, err := strconv.Atoi(index)
	if err != nil {
		return nil, fmt.Errorf("reading the index %s: %w", index, err)
	}
	if i < 0 {
		i += len(list)
	}
	if i < 0 || i >= len(list) {
		return nil, fmt.Errorf("the list has %d elements, but none at [%s]", len(list), index)
	}
	return list[i], nil
}

// elementWith returns the one element of a list of which a field has a value.
func elementWith(at any, key, value string) (any, error) {
	list, ok := at.([]any)
	if !ok {
		return nil, fmt.Errorf("the value in which %s is to be %q is not a list", key, value)
	}
	var found []any
	for _, candidate := range list {
		object, _ := candidate.(map[string]any)
		has, there := object[key]
		if written, one := text(has); there && one && written == value {
			found = append(found, candidate)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("the list has %d elements with %s equal to %q, instead of one", len(found), key, value)
	}
	return found[0], nil
}

// text returns a value as a label would contain it; false for an object or a list.
func text(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case bool:
		return strconv.FormatBool(value), true
	case json.Number:
		return value.String(), true
	case nil:
		return "null", true
	default:
		return "", false
	}
}
