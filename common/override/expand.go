package override

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlead.dev/common/jsondepth"
)

// Bounds of a text inside a field. No object is as large, so none of them is in the way of one that
// can be stored.
const (
	// maxText is how many bytes it may have, with what aliases in it stand for, and when it is changed.
	maxText = 2 << 20
	// nodeSize is the size of a value, in bytes, beside its own characters.
	nodeSize = 4
	// maxDirectives is how many names for tags it may declare. Each tag is looked up in all of them.
	maxDirectives = 100
)

// boundedText says whether a text is of a sensible size.
func boundedText(text string) error {
	if len(text) > maxText {
		return fmt.Errorf("the string has %d bytes, and may have %d; divide it among several fields", len(text), maxText)
	}
	return nil
}

// expandable says whether YAML may be decoded. A decoder puts what an anchor names wherever an alias
// asks for it, and counts these places but not the bytes: a short text makes gigabytes.
func expandable(text string) error {
	if n := strings.Count(text, "%TAG"); n > maxDirectives {
		return fmt.Errorf("the string has %d %%TAG directives, and may have %d; write the tags out", n, maxDirectives)
	}
	if !strings.Contains(text, "*") { // by which every alias begins
		return nil
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return fmt.Errorf("the string is not YAML: %w", err)
	}
	if (sizes{}).of(&document) > maxText {
		return fmt.Errorf("the string is YAML that has more than %d bytes with what its aliases stand for; use fewer aliases", maxText)
	}
	return nil
}

// flat says whether a document may be written as YAML, where every line is indented as deep as it is nested.
func flat(document []byte) error {
	if jsondepth.Of(document) > jsondepth.MaxValue {
		return fmt.Errorf("the string is YAML that is nested more than %d levels deep; make it flatter", jsondepth.MaxValue)
	}
	return nil
}

// sizes has the measured sizes of a document's anchors, in bytes.
type sizes map[*yaml.Node]int

// of returns how large what a node stands for is; what is larger than maxText counts as little more.
func (s sizes) of(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if known, ok := s[n]; ok {
		return known
	}
	if n.Anchor != "" {
		s[n] = 0 // An anchor in itself is left to the decoder, which refuses it.
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
