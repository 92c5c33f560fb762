package diff

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v2"

	"fairlead.dev/common/jsondepth"
)

// Limits of a YAML document. In YAML, each element of a list and each line of a folded string starts with spaces for
// each level above it, so a megabyte of JSON may become hundreds.
const (
	maxYAML = 4 << 20
	// maxValues is how many values are converted to YAML, each of which takes hundreds of bytes meanwhile.
	maxValues = 100_000
	// maxJSON is how many bytes are shown of a value that is not converted.
	maxJSON = 256 << 10
)

// YAML returns a value as YAML, truncated to that many bytes. A value that would be far larger as YAML is returned as
// JSON. In both cases the result says so, with a checksum of the whole if it is truncated, so that different values
// look different.
func YAML(value any, most int) (string, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	text, remark := "", ""
	if jsondepth.Values(data) <= maxValues {
		text, err = indented(data)
	} else {
		err = errTooLarge
	}
	switch {
	case errors.Is(err, errTooLarge):
		most = min(most, maxJSON)
		text, remark = string(data)+"\n", "# Shown as JSON, because it is too large or nested too deep for YAML.\n"
	case err != nil:
		return "", err
	}
	if len(text) <= most {
		return text + remark, nil
	}
	return fmt.Sprintf("%s\n%s# … it is longer than is shown here. The checksum of all of it is %x.\n",
		strings.ToValidUTF8(text[:most], ""), remark, sha256.Sum256(data)), nil
}

// errTooLarge says that YAML would be larger than maxYAML.
var errTooLarge = errors.New("it is too large as YAML")

// indented converts JSON to YAML like sigs.k8s.io/yaml, but gives up when the result is too large.
func indented(data []byte) (string, error) {
	var value any
	if err := yaml.Unmarshal(data, &value); err != nil {
		return "", err
	}
	out := &bounded{}
	encoder := yaml.NewEncoder(out)
	err := encoder.Encode(value)
	if err == nil {
		err = encoder.Close()
	}
	if out.full { // the encoder does not return the original error
		return "", errTooLarge
	}
	return out.text.String(), err
}

// bounded is a buffer for at most maxYAML bytes.
type bounded struct {
	text bytes.Buffer
	full bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.full = b.full || b.text.Len()+len(p) > maxYAML; b.full {
		return 0, errTooLarge
	}
	return b.text.Write(p)
}
