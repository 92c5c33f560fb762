package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/common/contract"
)

// Activation is what a lazy policy does to a template.
type Activation struct {
	// Bind says that the binding is to be made or brought up to date.
	Bind bool
	// Seen is what the template is to remember as its last edit; empty for a policy that
	// is not lazy.
	Seen string
}

// Activate decides whether a policy takes effect on a template now. A lazy one does so
// with an edit of the template: one that came after the template was last seen, or the
// making of a template that is younger than the policy. What the template remembers
// must be written together with the claim when nothing is bound, and after the binding
// else, so that a hub that stops half-way does it again. What was seen in another version
// says nothing about an edit: the same content reads differently there.
func Activate(lazy bool, seen, edit string, bound, younger bool) Activation {
	switch {
	case !lazy:
		return Activation{Bind: true}
	case sameEdit(seen, edit):
		return Activation{Seen: seen}
	case seen == "" && (bound || !younger), otherVersion(seen, edit):
		return Activation{Seen: edit}
	default:
		return Activation{Bind: true, Seen: edit}
	}
}

// inVersion is between the hash of a content and the version in which that was read.
const inVersion = "@"

// sameEdit says whether the content of a template is what was seen. Older hubs did not note
// the version.
func sameEdit(seen, edit string) bool {
	hash, _, _ := strings.Cut(edit, inVersion)
	return seen == edit || seen == hash
}

// otherVersion says whether a template was seen in another version.
func otherVersion(seen, edit string) bool {
	_, before, known := strings.Cut(seen, inVersion)
	_, now, _ := strings.Cut(edit, inVersion)
	return known && before != now
}

// Edit is a short text that changes with every edit of a template by its author, and
// with nothing that the hub or a status does. It looks at the content: the generation
// of a Deployment goes up with its annotations, too. It says in which version that was read.
func Edit(template *unstructured.Unstructured) (string, error) {
	h := sha256.New()
	line := func(values ...any) { _, _ = fmt.Fprintf(h, "%q\n", values) } // a hash never fails
	line("uid", template.GetUID())
	content := maps.Clone(template.Object)
	delete(content, "metadata")
	delete(content, "status")
	data, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("encoding %s %q: %w", template.GetKind(), template.GetName(), err)
	}
	line("content", string(data))
	for _, set := range []map[string]string{template.GetLabels(), template.GetAnnotations()} {
		line("keys")
		for _, key := range slices.Sorted(maps.Keys(set)) {
			if authored(key) {
				line(key, set[key])
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:10]) + inVersion + template.GetAPIVersion(), nil
}

// authored says whether a label or annotation is one that authors write.
func authored(key string) bool {
	if key == contract.SkipAutoPropagationLabel {
		return true
	}
	return !strings.Contains(key, ".karmada.io") && !strings.HasPrefix(key, contract.Prefix)
}
