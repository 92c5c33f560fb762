package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter"
)

// version is a hash of an object that has rules for some kinds.
type version struct {
	rules []configv1alpha1.Rule
	hash  []byte
}

// versions returns those of all objects, in the order in which they count.
func versions(from Sources) []version {
	var out []version
	for _, c := range from.Customizations {
		out = append(out, version{[]configv1alpha1.Rule{target(c.Spec.Target)}, hash(c.Name, c.Spec)})
	}
	for _, c := range from.Webhooks {
		out = append(out, version{rulesOf(c), hash(c.Name, c.Webhooks)})
	}
	return out
}

func hash(name string, rules any) []byte {
	text, err := json.Marshal([]any{name, rules})
	if err != nil { // never: it came as JSON
		text = []byte(name)
	}
	sum := sha256.Sum256(text)
	return sum[:]
}

// AsksOthers implements interpreter.Changing: webhooks are asked where no script answers.
func (s *Store) AsksOthers(kind schema.GroupVersionKind, op interpreter.Operation) bool {
	t := s.table.Load()
	return !t.declare.Has(kind, op) && t.hooks.Has(kind, op)
}

// Version implements interpreter.Changing.
func (s *Store) Version(kind schema.GroupVersionKind) string {
	h, found := sha256.New(), false
	for _, v := range s.table.Load().versions {
		if concern(v.rules, kind) {
			h.Write(v.hash)
			found = true
		}
	}
	if !found {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil)[:5])
}
