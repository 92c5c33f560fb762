package dashboard

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/hub/people/view/diff"
)

// yamlView is a text in YAML.
type yamlView struct {
	Title, Text, ID string
}

// maxManifest bounds what is shown of one object.
const maxManifest = 256 << 10

// manifestOf returns an object as YAML, without what the API server adds for itself, and with
// what is secret masked. It is how every object gets onto a page.
func (s *Server) manifestOf(obj any) (string, error) {
	content, err := contentOf(obj)
	if err != nil {
		return "", err
	}
	dropUnwritten(content)
	out, err := diff.YAML(s.mask.Object(content), maxManifest)
	if err != nil {
		return "", fmt.Errorf("encoding an object: %w", err)
	}
	return out, nil
}

func contentOf(obj any) (map[string]any, error) {
	switch o := obj.(type) {
	case map[string]any:
		return runtime.DeepCopyJSON(o), nil
	case []byte:
		content := map[string]any{}
		if err := json.Unmarshal(o, &content); err != nil {
			return nil, fmt.Errorf("reading an object: %w", err)
		}
		return content, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("reading an object: %w", err)
	}
	return runtime.DeepCopyJSON(content), nil
}

// dropUnwritten removes from an object what nobody wrote.
func dropUnwritten(content map[string]any) {
	if metadata, ok := content["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
		}
		if metadata["creationTimestamp"] == nil {
			delete(metadata, "creationTimestamp")
		}
	}
}

// dropUnsent removes from a template what is not sent to members, so that it can be compared
// with what is.
func dropUnsent(content map[string]any) {
	dropUnwritten(content)
	delete(content, "status")
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		return
	}
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "selfLink", "finalizers", "ownerReferences", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		delete(metadata, field)
	}
	for _, field := range []string{"labels", "annotations"} {
		values, ok := metadata[field].(map[string]any)
		if !ok {
			continue
		}
		for key := range values {
			if isHubMark(key) {
				delete(values, key)
			}
		}
		if len(values) == 0 {
			delete(metadata, field)
		}
	}
}

// isHubMark says whether a label or an annotation is one by which the hub marks objects.
func isHubMark(key string) bool {
	prefix, _, found := strings.Cut(key, "/")
	return found && (prefix == "karmada.io" || strings.HasSuffix(prefix, ".karmada.io") || prefix == "fairlead.dev")
}
