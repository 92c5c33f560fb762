package override

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlead.dev/common/jsondepth"
)

// Bounds of a text inside a field. Stored objects are smaller, so they never affect a legitimate text.
const (
	// maxText bounds the text with its aliases expanded, and after changes, in bytes.
	maxText = 2 << 20
	// nodeSize is the assumed size of a value in addition to its characters, in bytes.
	nodeSize = 4
	// maxDirectives bounds the tag names that it may declare. Each tag is looked up in all of them.
	maxDirectives = 100
)

// boundedText returns an error if a text is too large.
func boundedText(text string) error {
	if len(text) > maxText {
		return fmt.Errorf("the string has %d bytes, and may have %d; divide it among several fields", len(text), maxText)
	}
	return nil
}

// expandable returns an error if YAML must not be decoded. A decoder inserts an anchor's value at each alias, and
// bounds the number of aliases but not the bytes: a short text could expand to gigabytes.
func expandable(text string) error {
	if n := strings.Count(text, "%TAG"); n > maxDirectives {
		return fmt.Errorf("the string has %d %%TAG directives, and may have %d; write the tags out", n, maxDirectives)
	}
	if !strings.Contains(text, "*") { // every alias begins with it
		return nil
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return notYAML(err)
	}
	if (sizes{}).of(&document) > maxText {
		return fmt.Errorf("the string is YAML that has more than %d bytes with what its aliases stand for; use fewer aliases", maxText)
	}
	return nil
}

// lineOf matches the line number in errors of the YAML libraries.
var lineOf = regexp.MustCompile(`^yaml: (?:unmarshal errors:\n  )?line (\d+): `)

// notYAML returns an error that says that a text is not YAML, with the line. The library's message is left out, since
// it may quote the text: that may be from a ClusterOverridePolicy that readers of the error may not read.
func notYAML(err error) error {
	if line := lineOf.FindStringSubmatch(err.Error()); line != nil {
		return fmt.Errorf("the string is not YAML, in line %s; correct it", line[1])
	}
	return errors.New("the string is not YAML that can be read; look for an alias without an anchor, an anchor that contains itself, and keys that are no strings")
}

// flat returns an error if a document is nested too deeply to be written as YAML, where every line is indented by its
// depth.
func flat(document []byte) error {
	if jsondepth.Of(document) > jsondepth.MaxValue {
		return fmt.Errorf("the string is YAML that is nested more than %d levels deep; make it flatter", jsondepth.MaxValue)
	}
	return nil
}

// sizes holds the measured sizes of a document's anchors, in bytes.
type sizes map[*yaml.Node]int

// of returns the expanded size of a node, capped slightly above maxText.
func (s sizes) of(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if known, ok := s[n]; ok {
		return known
	}
	if n.Anchor != "" {
		s[n] = 0 // The decoder refuses an anchor inside itself.
	}
	size := nodeSize + len(n.Value)
	for _, child := range n.Content {
		size = min(size+s.of(child), maxText+1)
	}
	if n.Anchor != "" {
		s[n] = size
	}
	return size
}
