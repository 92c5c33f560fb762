package kubefed

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

const replicasPath = "/spec/replicas"

// differences are the overrides of an object.
type differences struct {
	order     []string
	byCluster map[string]*policyv1alpha1.Overriders
	// replicas by cluster, where they are overridden; fields is where that stands.
	replicas map[string]int64
	fields   map[string]string
}

// rules returns the override rules, one for all clusters with the same overrides.
func (d *differences) rules() []policyv1alpha1.RuleWithCluster {
	var out []policyv1alpha1.RuleWithCluster
	at := map[string]int{}
	for _, cluster := range d.order {
		o := d.byCluster[cluster]
		raw, err := json.Marshal(o)
		if err != nil || len(o.Plaintext)+len(o.AnnotationsOverrider) == 0 {
			continue
		}
		n, same := at[string(raw)]
		if !same {
			n = len(out)
			at[string(raw)] = n
			out = append(out, policyv1alpha1.RuleWithCluster{TargetCluster: &policyv1alpha1.ClusterAffinity{}, Overriders: *o})
		}
		out[n].TargetCluster.ClusterNames = append(out[n].TargetCluster.ClusterNames, cluster)
	}
	return out
}

// overrides reads the overrides by cluster.
func (i *item) overrides(f *federated, obj *unstructured.Unstructured, t target) differences {
	out := differences{byCluster: map[string]*policyv1alpha1.Overriders{}, replicas: map[string]int64{}, fields: map[string]string{}}
	for n, o := range f.Spec.Overrides {
		field := fmt.Sprintf("spec.overrides[%d]", n)
		if o.ClusterName == "" {
			i.refuse(field+".clusterName", "it is missing")
			continue
		}
		if out.byCluster[o.ClusterName] != nil {
			i.refuse(field+".clusterName", "%q appears twice; KubeFed applies neither", o.ClusterName)
			continue
		}
		to := &policyv1alpha1.Overriders{}
		out.order, out.byCluster[o.ClusterName] = append(out.order, o.ClusterName), to
		paths := map[string]bool{}
		for k, change := range o.ClusterOverrides {
			at := fmt.Sprintf("%s.clusterOverrides[%d]", field, k)
			op := change.Op
			if op == "" {
				op = string(policyv1alpha1.OverrideReplace)
			}
			if !slices.Contains([]string{"add", "remove", "replace"}, op) {
				i.refuse(at+".op", "%q must be add, remove or replace", op)
				continue
			}
			if paths[change.Path] {
				i.refuse(at+".path", "%s appears twice for a cluster; KubeFed applies neither", change.Path)
				continue
			}
			paths[change.Path] = true
			if wrong := whyNotOverridable(change.Path, obj.GetNamespace() != ""); wrong != "" {
				i.refuse(at+".path", "%s %s", change.Path, wrong)
				continue
			}
			if n, whole := wholeNumber(change.Value); whole && change.Path == replicasPath && op != "remove" && t.scalable() && n >= 0 && n <= math.MaxInt32 {
				out.replicas[o.ClusterName], out.fields[o.ClusterName] = n, at
				continue
			}
			i.change(at, op, change, to)
		}
	}
	return out
}

// refuseWholeSpec refuses overrides that replace the whole spec of an object whose replicas are divided, since they
// would also override the replicas.
func (i *item) refuseWholeSpec(f *federated, d differences, pref *item) {
	if pref == nil && len(d.replicas) == 0 {
		return
	}
	for n, o := range f.Spec.Overrides {
		for k, change := range o.ClusterOverrides {
			if change.Path == "/spec" {
				i.refuse(fmt.Sprintf("spec.overrides[%d].clusterOverrides[%d].path", n, k), "/spec replaces the replicas too, which are divided; override single fields of it")
			}
		}
	}
}

// whyNotOverridable says why a path cannot be overridden; empty if it can.
func whyNotOverridable(path string, namespaced bool) string {
	if !regexp.MustCompile(`^(/([^~/]|~[01])*)+$`).MatchString(path) {
		return "is not a JSON pointer, such as /spec/replicas"
	}
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	second, _, _ := strings.Cut(rest, "/")
	switch {
	case first == "apiVersion":
		return "cannot differ by cluster; write two templates"
	case first == "kind", first == "metadata" && slices.Contains([]string{"name", "namespace", "generateName"}, second):
		return "cannot be overridden, in KubeFed neither"
	case first == "metadata" && second == "":
		return "replaces the name of the object too; override single fields of it"
	case first == "status", first == "metadata" && slices.Contains([]string{
		"uid", "ownerReferences", "finalizers", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "managedFields", "selfLink",
	}, second):
		return "belongs to one object in one cluster, and is not sent"
	case namespaced && (first == "roleRef" || first == "subjects"):
		return "grants rights, which an OverridePolicy of one namespace cannot change; write two templates"
	}
	return ""
}

// change converts one override. Overrides of annotations become annotation overriders, since the manifest may have none
// to change.
func (i *item) change(at, op string, o override, to *policyv1alpha1.Overriders) {
	key, annotation := strings.CutPrefix(o.Path, "/metadata/annotations")
	if !annotation || key != "" && key[0] != '/' {
		value, err := json.Marshal(o.Value)
		if err != nil {
			i.refuse(at+".value", "it cannot be encoded: %v", err)
			return
		}
		if op != "remove" && o.Value == nil {
			i.refuse(at+".value", "there is no value to %s, which would set null; give it a value, or remove the field", op)
			return
		}
		plain := policyv1alpha1.PlaintextOverrider{Path: o.Path, Operator: policyv1alpha1.OverriderOperator(op)}
		if op != "remove" {
			plain.Value = apiextensionsv1.JSON{Raw: value}
		}
		to.Plaintext = append(to.Plaintext, plain)
		return
	}
	if op == "remove" {
		i.tell(at+".path", "left out: in KubeFed it removes annotations that a member has, and here the template has none to remove")
		return
	}
	values := map[string]string{}
	switch v := o.Value.(type) {
	case string:
		if key == "" {
			i.refuse(at+".value", "annotations must be an object of strings")
			return
		}
		values[strings.NewReplacer("~1", "/", "~0", "~").Replace(key[1:])] = v
	case map[string]any:
		for name, text := range v {
			s, ok := text.(string)
			if !ok || key != "" {
				i.refuse(at+".value", "an annotation must be a string")
				return
			}
			values[name] = s
		}
	default:
		i.refuse(at+".value", "an annotation must be a string")
		return
	}
	i.tell(at+".path", "set in what is sent; annotations that a member has of others stay, whatever the operation")
	to.AnnotationsOverrider = append(to.AnnotationsOverrider, policyv1alpha1.LabelAnnotationOverrider{Operator: policyv1alpha1.OverrideAdd, Value: values})
}

// restore puts the overrides of replicas back among the others.
func (d *differences) restore() {
	for _, cluster := range slices.Sorted(maps.Keys(d.replicas)) {
		d.byCluster[cluster].Plaintext = append(d.byCluster[cluster].Plaintext, policyv1alpha1.PlaintextOverrider{
			Path: replicasPath, Operator: policyv1alpha1.OverrideReplace, Value: apiextensionsv1.JSON{Raw: fmt.Append(nil, d.replicas[cluster])},
		})
	}
	d.replicas = nil
}

// divide converts overrides of replicas into a division by weights if every cluster is known and has some; otherwise
// they stay overrides.
func (i *item) divide(where reach, d differences, spec *policyv1alpha1.PropagationSpec, obj *unstructured.Unstructured) {
	fields := slices.Sorted(maps.Values(d.fields))
	each, err := replicasOf(obj)
	if err != nil {
		i.refuse("spec.template.spec.replicas", "%v", err)
		return
	}
	shares := map[string]int64{}
	var total int64
	for _, cluster := range where.names {
		n, overridden := d.replicas[cluster]
		if !overridden {
			n = each
		}
		shares[cluster] = n
		total += n
		if n < 1 {
			total = 0
			break
		}
	}
	if total < 1 || total > math.MaxInt32 || where.selector != nil {
		for _, field := range fields {
			i.tell(field+".path", "stays an override: replicas are divided by weights only where every cluster is named and has some. The hub counts the replicas of the template for each cluster")
		}
		d.restore()
		return
	}
	for _, cluster := range slices.Sorted(maps.Keys(d.replicas)) {
		if _, placed := shares[cluster]; !placed {
			i.tell(d.fields[cluster]+".path", "left out: the object is not in %q", cluster)
		} else {
			i.tell(d.fields[cluster]+".path", "a share of %d replicas that are divided by weights", total)
		}
	}
	spec.Placement.ReplicaScheduling = byWeights(shares)
	setReplicas(obj, total)
}

// replicasOf returns the replicas of a template, 1 if they are not set. It creates a missing spec.
func replicasOf(obj *unstructured.Unstructured) (int64, error) {
	if obj.Object["spec"] == nil {
		obj.Object["spec"] = map[string]any{}
	}
	if _, ok := obj.Object["spec"].(map[string]any); !ok {
		return 0, errors.New("the spec of the template is no object")
	}
	n, found, err := unstructured.NestedFieldNoCopy(obj.Object, "spec", "replicas")
	if err != nil || !found || n == nil {
		return 1, err
	}
	if whole, ok := wholeNumber(n); ok {
		return whole, nil
	}
	return 0, errors.New("the replicas of the template are not a number")
}

// wholeNumber returns a JSON number that has no fraction.
func wholeNumber(value any) (int64, bool) {
	switch v := value.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), v == math.Trunc(v) && math.Abs(v) < 1<<53
	}
	return 0, false
}

// byWeights returns a division into exactly these shares, for that total.
func byWeights(shares map[string]int64) *policyv1alpha1.ReplicaSchedulingStrategy {
	list := []policyv1alpha1.StaticClusterWeight{}
	for _, cluster := range slices.Sorted(maps.Keys(shares)) {
		list = append(list, policyv1alpha1.StaticClusterWeight{
			TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: []string{cluster}}, Weight: shares[cluster],
		})
	}
	return weighted(list)
}

func weighted(list []policyv1alpha1.StaticClusterWeight) *policyv1alpha1.ReplicaSchedulingStrategy {
	return &policyv1alpha1.ReplicaSchedulingStrategy{
		ReplicaSchedulingType: policyv1alpha1.Divided, ReplicaDivisionPreference: policyv1alpha1.Weighted,
		WeightPreference: &policyv1alpha1.ClusterPreferences{StaticWeightList: list},
	}
}
