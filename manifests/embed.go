// Package manifests holds what the hub installs into its API server, as files: the
// CRDs (generated), the rights of those who are about to join, the admission policies,
// and how requests of agents are served beside those of others. The files are the truth; this package only reads them.
package manifests

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"
)

// Directories of the files.
const (
	crdDir    = "crds"
	rbacDir   = "rbac"
	policyDir = "policies"
	flowDir   = "flow"
)

// FS returns the files, in the directories crds, rbac, policies and flow.
func FS() fs.FS { return files }

//go:embed crds/*.yaml rbac/*.yaml policies/*.yaml flow/*.yaml
var files embed.FS

//go:embed monitoring
var monitoring embed.FS

// Monitoring returns a file of the directory monitoring: dashboards of Grafana and alert rules
// of Prometheus.
func Monitoring(name string) ([]byte, error) {
	data, err := monitoring.ReadFile("monitoring/" + name)
	if err != nil {
		return nil, fmt.Errorf("reading what is for monitoring: %w", err)
	}
	return data, nil
}

// CRDs returns the definitions of the propagation API, sorted by name.
func CRDs() ([]*unstructured.Unstructured, error) { return read(crdDir) }

// TypedCRDs returns the same definitions as Go types.
func TypedCRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	objects, err := CRDs()
	if err != nil {
		return nil, err
	}
	crds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(objects))
	for _, obj := range objects {
		data, err := obj.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("encoding %q: %w", obj.GetName(), err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, crd); err != nil {
			return nil, fmt.Errorf("decoding %q: %w", obj.GetName(), err)
		}
		crds = append(crds, crd)
	}
	return crds, nil
}

// RBAC returns the roles and bindings of those who have not joined yet, sorted by kind
// and name.
func RBAC() ([]*unstructured.Unstructured, error) { return read(rbacDir) }

// Policies returns the admission policies and their bindings, sorted by kind and name.
func Policies() ([]*unstructured.Unstructured, error) { return read(policyDir) }

// Flow returns what says how requests of agents are served beside those of others, the levels
// after the schemas that name them.
func Flow() ([]*unstructured.Unstructured, error) { return read(flowDir) }

// read decodes the files of a directory; each holds one object.
func read(dir string) ([]*unstructured.Unstructured, error) {
	names, err := fs.Glob(files, dir+"/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", dir, err)
	}
	objects := make([]*unstructured.Unstructured, 0, len(names))
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		content := map[string]any{}
		if err := yaml.UnmarshalStrict(data, &content); err != nil {
			return nil, fmt.Errorf("decoding %s: %w", name, err)
		}
		objects = append(objects, &unstructured.Unstructured{Object: content})
	}
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return objects, nil
}
