package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"sigs.k8s.io/yaml"
)

// readFile reads a file; - means standard input.
func readFile(file string) ([]byte, error) {
	if file == "-" {
		data, err := io.ReadAll(os.Stdin)
		if err != nil {
			return nil, fmt.Errorf("reading the standard input: %w", err)
		}
		return data, nil
	}
	data, err := os.ReadFile(file) //nolint:gosec // The user names the file.
	if err != nil {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	return data, nil
}

// eachDocument calls f for each YAML document in a file that is an object.
func eachDocument(file string, f func(kind string, document []byte) error) error {
	data, err := readFile(file)
	if err != nil {
		return err
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var object struct {
			Kind string `json:"kind"`
		}
		if err == nil {
			err = yaml.Unmarshal(document, &object)
		}
		if err != nil {
			return fmt.Errorf("reading %s: it holds no object in YAML: %w", file, err)
		}
		if object.Kind == "" {
			continue // only comments
		}
		if err := f(object.Kind, document); err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
	}
}

// readObject reads a file with a single object of any kind.
func readObject(file string) (*unstructured.Unstructured, error) {
	var out *unstructured.Unstructured
	err := eachDocument(file, func(kind string, document []byte) error {
		if out != nil {
			return fmt.Errorf("it holds another object after the %s %q; one is wanted", out.GetKind(), out.GetName())
		}
		var err error
		out, err = decodeObject(kind, document)
		return err
	})
	if err == nil && out == nil {
		return nil, fmt.Errorf("reading %s: it holds no object, which has an apiVersion and a kind", file)
	}
	return out, err
}

// decodeObject decodes an object of any kind.
func decodeObject(kind string, document []byte) (*unstructured.Unstructured, error) {
	text, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, fmt.Errorf("the %s cannot be read: %w", kind, err)
	}
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(text); err != nil {
		return nil, fmt.Errorf("the %s cannot be read: %w", kind, err)
	}
	return out, nil
}
