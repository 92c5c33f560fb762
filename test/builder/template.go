package builder

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Template builds a user's object of any kind.
type Template struct{ obj *unstructured.Unstructured }

// MakeTemplate begins an object. For a cluster-scoped object the namespace is empty.
func MakeTemplate(apiVersion, kind, namespace, name string) *Template {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return &Template{obj: obj}
}

// MakeDeployment begins a Deployment of one replica of nginx.
func MakeDeployment(namespace, name string) *Template {
	return MakeTemplate("apps/v1", "Deployment", namespace, name).
		Replicas(1).
		Set(map[string]any{"app": name}, "spec", "selector", "matchLabels").
		Set(map[string]any{"app": name}, "spec", "template", "metadata", "labels").
		Image("nginx:1.27")
}

// MakeConfigMap begins a ConfigMap with pairs of keys and values.
func MakeConfigMap(namespace, name string, pairs ...string) *Template {
	t := MakeTemplate("v1", "ConfigMap", namespace, name)
	for i := 0; i+1 < len(pairs); i += 2 {
		t.Set(pairs[i+1], "data", pairs[i])
	}
	return t
}

// MakeService begins a Service of port 80 that selects the pods of MakeDeployment with the same name.
func MakeService(namespace, name string) *Template {
	return MakeTemplate("v1", "Service", namespace, name).
		Set(map[string]any{"app": name}, "spec", "selector").
		Set([]any{map[string]any{"port": int64(80)}}, "spec", "ports")
}

// MakeClusterRole begins a ClusterRole that may read ConfigMaps.
func MakeClusterRole(name string) *Template {
	return MakeTemplate("rbac.authorization.k8s.io/v1", "ClusterRole", "", name).
		Set([]any{map[string]any{
			"apiGroups": []any{""}, "resources": []any{"configmaps"}, "verbs": []any{"get"},
		}}, "rules")
}

// Set sets the field at a path. Numbers are int64 or float64, lists []any and objects map[string]any, as in all
// unstructured objects.
func (t *Template) Set(value any, path ...string) *Template {
	if err := unstructured.SetNestedField(t.obj.Object, value, path...); err != nil {
		panic(err) // a mistake in the test
	}
	return t
}

// Replicas sets spec.replicas.
func (t *Template) Replicas(n int64) *Template { return t.Set(n, "spec", "replicas") }

// Image sets the image of the only container, whose name is that of the object.
func (t *Template) Image(image string) *Template {
	return t.Set([]any{map[string]any{"name": t.obj.GetName(), "image": image}}, "spec", "template", "spec", "containers")
}

// Label sets a label.
func (t *Template) Label(key, value string) *Template {
	t.obj.SetLabels(with(t.obj.GetLabels(), key, value))
	return t
}

// Annotation sets an annotation.
func (t *Template) Annotation(key, value string) *Template {
	t.obj.SetAnnotations(with(t.obj.GetAnnotations(), key, value))
	return t
}

// Obj returns the object.
func (t *Template) Obj() *unstructured.Unstructured { return t.obj.DeepCopy() }

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}
