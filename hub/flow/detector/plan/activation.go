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

// Activation is the effect of a policy, which may be lazy, on a template.
type Activation struct {
	// Bind says that the binding must be created or updated.
	Bind bool
	// Seen is what to record on the template as its last edit; empty for a policy that is not lazy.
	Seen string
}

// Activate decides whether a policy takes effect on a template now. A lazy policy takes effect with an edit of the template after it was
// last seen, or with the creation of a template that is younger than the policy. What is recorded on the template must be written together
// with the claim if nothing is bound, and otherwise after the binding, so that a hub that stops half-way repeats it. An edit that was
// recorded in another version does not count, because the same content reads differently there.
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

// inVersion separates the hash of a content from the version in which the content was read.
const inVersion = "@"

// sameEdit returns whether the content of a template is the recorded one. Earlier versions of the hub did not record the version.
func sameEdit(seen, edit string) bool {
	hash, _, _ := strings.Cut(edit, inVersion)
	return seen == edit || seen == hash
}

// otherVersion returns whether the edit was recorded in another version.
func otherVersion(seen, edit string) bool {
	_, before, known := strings.Cut(seen, inVersion)
	_, now, _ := strings.Cut(edit, inVersion)
	return known && before != now
}

// Edit returns a short text that changes with every edit of a template by its author, and with nothing that the hub writes or that is in
// the status. It is a hash of the content, because the generation of a Deployment changes with its annotations, too. It contains the
// version in which the content was read.
func Edit(template *unstructured.Unstructured) (string, error) {
	h := sha256.New()
	line := func(values ...any) { _, _ = fmt.Fprintf(h, "%q\n", values) } // writing to a hash never fails
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

// authored returns whether a label or annotation is one that authors write.
func authored(key string) bool {
	if key == contract.SkipAutoPropagationLabel {
		return true
	}
	return !strings.Contains(key, ".karmada.io") && !strings.HasPrefix(key, contract.Prefix)
}
