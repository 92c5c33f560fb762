package builder

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"sigs.k8s.io/yaml"
)

// Objects parses objects in YAML as an API server does: whole numbers are integers. Empty documents are skipped, and
// duplicate fields are errors.
func Objects(text string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading YAML: %w", err)
		}
		raw, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			return nil, fmt.Errorf("reading YAML: %w in %q", err, document)
		}
		if string(raw) == "null" {
			continue
		}
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(raw); err != nil {
			return nil, fmt.Errorf("reading an object: %w in %q", err, document)
		}
		out = append(out, obj)
	}
}
