package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

// Origin identifies everything that the Works of a binding are rendered from. While none of it changes, rendering gives the same result.
type Origin struct {
	// Program identifies the version of the program.
	Program string
	// Template is the fingerprint of the template, by bindings.Fingerprint, and Rules the version of the interpretation rules of its kind.
	Template, Rules string
	// Binding is the binding.
	Binding workv1alpha2.Binding
	// Overrides identify the override policies that may apply to the template, each with its generation.
	Overrides []string
	// Quota is what bounds the requests of a Work; nil if no quota does. A Work that exceeds it is not written, so a Work with this origin
	// was within it.
	Quota *Quota
}

// Quota is what the check of quotas on a Work depends on, besides the Work's other input. It does not contain the amounts, which bound only
// what is admitted.
type Quota struct {
	// Resources are the names of the bounded resources, in a fixed order.
	Resources []corev1.ResourceName
	// Admitted is what was admitted of the binding's requests: see contract.AdmittedRequestsAnnotation.
	Admitted string
}

// Digest is a hash of an origin.
type Digest struct {
	// program is a hash of the program version and the bounded resources: see SameProgram.
	program, sum string
	// overridden says that there are override policies, so that properties of the cluster count.
	overridden bool
	// bounded says that there are quotas, so that the wanted replicas count for every kind.
	bounded bool
	// spec is the spec of the binding, from which Of takes what is about one cluster.
	spec      *workv1alpha2.ResourceBindingSpec
	preserved func(cluster string) bool
}

// Digest returns the hash of what all clusters have in common. The other clusters of the application are not part of it, since a Work
// depends only on its own share: one cluster more or less must not cause thousands of Works to be rendered.
func (o Origin) Digest() (Digest, error) {
	spec := o.Binding.BindingSpec()
	of := *spec
	// Of takes what a Work needs from these. Only the scheduler uses the time.
	of.Clusters, of.RequiredBy, of.GracefulEvictionTasks, of.PreservedIn, of.Suspension, of.RescheduleTriggeredAt = nil, nil, nil, nil, nil, nil
	var all []workv1alpha2.TargetCluster
	if sharesCompletions(spec.Resource.Kind, spec) {
		all = bindings.Targets(spec) // a share of completions depends on all clusters
	}
	id := o.Binding.GetLabels()[bindings.IDLabel(o.Binding.GetNamespace())]
	from := []any{o.Program, o.Template, o.Rules, o.Overrides, id, o.Binding.GetNamespace(), o.Binding.GetName(), of, all}
	if o.Quota != nil {
		from = append(from, o.Quota)
	}
	text, err := json.Marshal(from)
	if err != nil {
		return Digest{}, fmt.Errorf("encoding what binding %q says: %w", o.Binding.GetName(), err)
	}
	sum := sha256.Sum256(text)
	maker := o.Program
	if o.Quota != nil {
		maker = fmt.Sprintf("%s %q", maker, o.Quota.Resources)
	}
	program := sha256.Sum256([]byte(maker))
	return Digest{
		program: hex.EncodeToString(program[:4]), sum: hex.EncodeToString(sum[:]), overridden: len(o.Overrides) > 0, bounded: o.Quota != nil,
		spec: spec, preserved: bindings.Preserving(spec),
	}, nil
}

// Of returns the value of contract.RenderedFromAnnotation for the Work of a target, given its Cluster. It covers the labels and annotations
// of the Work, so that a Work on which another writer changed one does not match. It modifies nothing.
func (d Digest) Of(work *workv1alpha1.Work, target workv1alpha2.TargetCluster, cluster *clusterv1alpha1.Cluster) string {
	h := sha256.New()
	line := func(values ...any) {
		_, _ = fmt.Fprintf(h, "%q\n", values) // writing to a hash never fails
	}
	line(d.sum, work.Namespace, work.Name)
	line("suspended", strconv.FormatBool(bindings.Suspended(d.spec.Suspension, target.Name)))
	line("preserved", strconv.FormatBool(d.preserved(target.Name)))
	if bindings.IsWorkload(d.spec) || d.bounded { // the replicas of a dependency are those of its workload, and have no effect on it
		line("replicas", strconv.FormatInt(int64(target.Replicas), 10))
	}
	lines(line, preservedState(d.spec, target.Name))
	if d.overridden {
		line(cluster.Name, cluster.Spec.Provider, cluster.Spec.Region, cluster.Spec.Zone, cluster.Spec.Zones)
		lines(line, cluster.Labels)
	}
	lines(line, work.Labels)
	annotations := maps.Clone(work.Annotations)
	delete(annotations, contract.RenderedFromAnnotation)
	lines(line, annotations)
	return d.program + "-" + hex.EncodeToString(h.Sum(nil)[:10])
}

// SameProgram returns whether two marks are from the same program version, with quotas for the same resources.
func SameProgram(a, b string) bool {
	of, _, _ := strings.Cut(a, "-")
	other, _, _ := strings.Cut(b, "-")
	return of == other
}

func lines(line func(...any), set map[string]string) {
	line("keys", len(set))
	for _, key := range slices.Sorted(maps.Keys(set)) {
		line(key, set[key])
	}
}
