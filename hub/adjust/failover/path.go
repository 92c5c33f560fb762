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

// longestPath is how many characters the jsonPath of a rule may have, as in the schema.
const longestPath = 256

// What a jsonPath is made of. The admission policy of propagation policies has the whole of it too.
const (
	// fieldName is the name of a field. What would end it is part of it after a backslash.
	fieldName = `(?:[^\s.,\[\]$@{}\\*\x22\x27]|\\[^\s\x22\x27])+`
	// step is a field, a field in brackets, an element of a list by its index, or that of which a field has a value.
	step = ` *(?:\.(` + fieldName + `)|\[\x27(` + fieldName + `(?:\.` + fieldName + `)*)\x27\]|\[(-?[0-9]{1,6})\]|` +
		`\[\?\( *@\.([-_A-Za-z0-9]+) *== *(?:\x22([^\x22\\]*)\x22|\x27([^\x27\\]*)\x27) *\)\])`
	pathPattern = `^\{ *[$@]?(?:` + step + `)+ *\}$`
)

var (
	wholePath = regexp.MustCompile(pathPattern)
	oneStep   = regexp.MustCompile(step)
	oneName   = regexp.MustCompile(fieldName)
)

// errNoPath says what a jsonPath may be.
var errNoPath = errors.New("it leads to one value by fields and indexes, at most 256 characters, such as { .jobStatus.jobID }, { .jobs[0]['id'] } " +
	"or { .conditions[?(@.type==\"Ready\")].status }: correct the policy")

// walk follows a jsonPath to one value. The syntax is that of kubectl, of which it knows what leads to one value: the rest of it can be
// made to double what was found with every few characters, and this runs in the hub for whoever may write a policy.
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

// fields goes down by the names of fields.
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

// element returns the element of a list that has an index; less than 0 counts from its end.
func element(at any, index string) (any, error) {
	list, ok := at.([]any)
	if !ok {
		return nil, fmt.Errorf("what [%s] is to be taken of is no list", index)
	}
	i, err := strconv.Atoi(index)
	if err != nil {
		return nil, fmt.Errorf("reading the index %s: %w", index, err)
	}
	if i < 0 {
		i += len(list)
	}
	if i < 0 || i >= len(list) {
		return nil, fmt.Errorf("the list has %d elements, and none at [%s]", len(list), index)
	}
	return list[i], nil
}

// elementWith returns the one element of a list of which a field has a value.
func elementWith(at any, key, value string) (any, error) {
	list, ok := at.([]any)
	if !ok {
		return nil, fmt.Errorf("where %s is to be %q is no list", key, value)
	}
	var found []any
	for _, candidate := range list {
		object, _ := candidate.(map[string]any)
		has, there := object[key]
		if said, one := text(has); there && one && said == value {
			found = append(found, candidate)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("the list has %d elements of which %s is %q, instead of one", len(found), key, value)
	}
	return found[0], nil
}

// text is a value as it is written into a label, which an object or a list cannot be.
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
