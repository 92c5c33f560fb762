package diff

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Mask hides secret values of objects. With the same Mask, equal values look equal and different ones different, so
// hidden values can be compared, but not guessed without the key.
type Mask struct{ key []byte }

// NewMask returns a Mask. The key must be random and secret.
func NewMask(key []byte) Mask { return Mask{key: key} }

// Object returns a copy of an object in which the values of a Secret are hidden, also in kubectl's last-applied
// annotation.
func (m Mask) Object(content map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(content)
	if out["kind"] != "Secret" {
		return out
	}
	m.values(out, "data", func(value any) any {
		text, isText := value.(string)
		if plain, err := base64.StdEncoding.DecodeString(text); isText && err == nil {
			return string(plain)
		}
		return value
	})
	m.values(out, "stringData", func(value any) any { return value })
	if metadata, ok := out["metadata"].(map[string]any); ok {
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			if value, ok := annotations[corev1.LastAppliedConfigAnnotation]; ok {
				annotations[corev1.LastAppliedConfigAnnotation] = m.hidden(value)
			}
		}
	}
	return out
}

// values hides the values of a field. Stands converts each to the value that it represents.
func (m Mask) values(obj map[string]any, field string, stands func(any) any) {
	switch values := obj[field].(type) {
	case nil:
	case map[string]any:
		for key, value := range values {
			values[key] = m.hidden(stands(value))
		}
	default: // not a valid field of a Secret: hidden as a whole
		obj[field] = m.hidden(values)
	}
}

// hidden returns the replacement for a value.
func (m Mask) hidden(value any) string {
	text, isText := value.(string)
	if !isText {
		encoded, _ := json.Marshal(value) //nolint:errchkjson // it was decoded from JSON
		text = string(encoded)
	}
	mac := hmac.New(sha256.New, m.key)
	_, _ = mac.Write([]byte(text)) // never fails
	const shown = 6                // bytes: among a thousand values, two collide once in half a billion cases
	return fmt.Sprintf("(hidden, %s)", hex.EncodeToString(mac.Sum(nil)[:shown]))
}
