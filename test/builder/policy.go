package builder

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// Policy builds a PropagationPolicy or a ClusterPropagationPolicy.
type Policy struct {
	meta metav1.ObjectMeta
	spec policyv1alpha1.PropagationSpec
}

// MakePolicy begins a policy.
func MakePolicy(namespace, name string) *Policy {
	return &Policy{meta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// Select selects templates by name; an empty name selects all of the kind.
func (p *Policy) Select(apiVersion, kind, name string) *Policy {
	return p.selector(policyv1alpha1.ResourceSelector{APIVersion: apiVersion, Kind: kind, Name: name})
}

// SelectLabel selects templates by one label.
func (p *Policy) SelectLabel(apiVersion, kind, key, value string) *Policy {
	return p.selector(policyv1alpha1.ResourceSelector{
		APIVersion: apiVersion, Kind: kind, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}},
	})
}

func (p *Policy) selector(s policyv1alpha1.ResourceSelector) *Policy {
	p.spec.ResourceSelectors = append(p.spec.ResourceSelectors, s)
	return p
}

// Clusters places the selected templates on the named clusters.
func (p *Policy) Clusters(names ...string) *Policy {
	p.spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ClusterNames: names}
	return p
}

// ClusterLabel places the selected templates on the clusters with a label.
func (p *Policy) ClusterLabel(key, value string) *Policy {
	p.spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}},
	}
	return p
}

// Tolerate tolerates every taint with a key.
func (p *Policy) Tolerate(key string) *Policy {
	p.spec.Placement.ClusterTolerations = append(p.spec.Placement.ClusterTolerations,
		corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	return p
}

// Weight divides replicas by weights instead of duplicating them; call it once per cluster.
func (p *Policy) Weight(cluster string, weight int64) *Policy {
	r := p.spec.Placement.ReplicaScheduling
	if r == nil {
		r = &policyv1alpha1.ReplicaSchedulingStrategy{
			ReplicaSchedulingType:     policyv1alpha1.Divided,
			ReplicaDivisionPreference: policyv1alpha1.Weighted,
			WeightPreference:          &policyv1alpha1.ClusterPreferences{},
		}
		p.spec.Placement.ReplicaScheduling = r
	}
	r.WeightPreference.StaticWeightList = append(r.WeightPreference.StaticWeightList, policyv1alpha1.StaticClusterWeight{
		TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: []string{cluster}}, Weight: weight,
	})
	return p
}

// WithDependencies propagates the dependencies of the selected templates.
func (p *Policy) WithDependencies() *Policy {
	p.spec.PropagateDeps = true
	return p
}

// Priority sets the priority among the policies that select the same template.
func (p *Policy) Priority(n int32) *Policy {
	p.spec.Priority = new(n)
	return p
}

// Overwrite lets the selected templates take over existing objects in members.
func (p *Policy) Overwrite() *Policy {
	p.spec.ConflictResolution = policyv1alpha1.ConflictOverwrite
	return p
}

// Preserve keeps the objects in members when the template is deleted.
func (p *Policy) Preserve() *Policy {
	p.spec.PreserveResourcesOnDeletion = new(true)
	return p
}

// Obj returns the policy, for templates in its namespace.
func (p *Policy) Obj() *policyv1alpha1.PropagationPolicy {
	return &policyv1alpha1.PropagationPolicy{ObjectMeta: *p.meta.DeepCopy(), Spec: *p.spec.DeepCopy()}
}

// ClusterObj returns the policy, for templates in all namespaces and cluster-scoped ones.
func (p *Policy) ClusterObj() *policyv1alpha1.ClusterPropagationPolicy {
	return &policyv1alpha1.ClusterPropagationPolicy{ObjectMeta: metav1.ObjectMeta{Name: p.meta.Name}, Spec: *p.spec.DeepCopy()}
}

// Override builds an OverridePolicy or a ClusterOverridePolicy.
type Override struct {
	meta metav1.ObjectMeta
	spec policyv1alpha1.OverrideSpec
}

// MakeOverride begins an override policy.
func MakeOverride(namespace, name string) *Override {
	return &Override{meta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// Select selects templates by name; an empty name selects all of the kind.
func (o *Override) Select(apiVersion, kind, name string) *Override {
	o.spec.ResourceSelectors = append(o.spec.ResourceSelectors,
		policyv1alpha1.ResourceSelector{APIVersion: apiVersion, Kind: kind, Name: name})
	return o
}

// Replace adds a rule that replaces the field at a JSON pointer in one cluster.
func (o *Override) Replace(cluster, path string, value any) *Override {
	return o.plaintext(cluster, path, policyv1alpha1.OverrideReplace, value)
}

// Add adds a rule that adds a field at a JSON pointer in one cluster.
func (o *Override) Add(cluster, path string, value any) *Override {
	return o.plaintext(cluster, path, policyv1alpha1.OverrideAdd, value)
}

func (o *Override) plaintext(cluster, path string, operator policyv1alpha1.OverriderOperator, value any) *Override {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err) // a mistake in the test
	}
	return o.rule(cluster, policyv1alpha1.Overriders{Plaintext: []policyv1alpha1.PlaintextOverrider{
		{Path: path, Operator: operator, Value: apiextensionsv1.JSON{Raw: raw}},
	}})
}

// Image adds a rule that replaces one component of every image in one cluster.
func (o *Override) Image(cluster string, component policyv1alpha1.ImageComponent, value string) *Override {
	return o.rule(cluster, policyv1alpha1.Overriders{ImageOverrider: []policyv1alpha1.ImageOverrider{
		{Component: component, Operator: policyv1alpha1.OverrideReplace, Value: value},
	}})
}

func (o *Override) rule(cluster string, overriders policyv1alpha1.Overriders) *Override {
	o.spec.OverrideRules = append(o.spec.OverrideRules, policyv1alpha1.RuleWithCluster{
		TargetCluster: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{cluster}}, Overriders: overriders,
	})
	return o
}

// Obj returns the override policy, for templates in its namespace.
func (o *Override) Obj() *policyv1alpha1.OverridePolicy {
	return &policyv1alpha1.OverridePolicy{ObjectMeta: *o.meta.DeepCopy(), Spec: *o.spec.DeepCopy()}
}

// ClusterObj returns the override policy, for templates in all namespaces and cluster-scoped ones.
func (o *Override) ClusterObj() *policyv1alpha1.ClusterOverridePolicy {
	return &policyv1alpha1.ClusterOverridePolicy{ObjectMeta: metav1.ObjectMeta{Name: o.meta.Name}, Spec: *o.spec.DeepCopy()}
}
