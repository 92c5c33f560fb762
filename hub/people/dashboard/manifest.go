package dashboard

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/hub/people/view/diff"
)

// yamlView is a YAML document.
type yamlView struct {
	Title, Text, ID string
}

// maxManifest bounds the size of a document in bytes.
const maxManifest = 256 << 10

// manifestOf renders an object as YAML, without fields that only the API server uses, and with secrets masked. All
// objects on pages are rendered by it.
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

// dropUnwritten removes fields that no author wrote.
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

// dropUnsent removes what members are not sent of a template, to make it comparable with what they are sent.
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

// isHubMark says whether a label or annotation is one of the hub's own.
func isHubMark(key string) bool {
	prefix, _, found := strings.Cut(key, "/")
	return found && (prefix == "karmada.io" || strings.HasSuffix(prefix, ".karmada.io") || prefix == "fairlead.dev")
}
