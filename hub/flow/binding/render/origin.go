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

// Origin is what the Works of a binding are rendered from, by what tells one from another: as long as none of it
// changes, the same is rendered.
type Origin struct {
	// Program is the program that renders.
	Program string
	// Template is the fingerprint of the template, as bindings.Fingerprint makes it, and Rules the version of the
	// rules of its kind.
	Template, Rules string
	// Binding is what was decided for it.
	Binding workv1alpha2.Binding
	// Overrides name the override policies that may be about the template, each with its generation.
	Overrides []string
	// Quota is what bounds the requests of a Work; nil if no quota does. A Work that is beyond it is not written, so one that says that it
	// was rendered from this was within it.
	Quota *Quota
}

// Quota is what the verdict of quotas on a Work depends on, beside what the Work is rendered from. How much they allow is not in it: that
// bounds what is admitted.
type Quota struct {
	// Resources are the names of what the quotas are about, in a fixed order.
	Resources []corev1.ResourceName
	// Admitted says what was admitted of the requests of the binding: see contract.AdmittedRequestsAnnotation.
	Admitted string
}

// Digest is a hash of an origin.
type Digest struct {
	// program is a hash of the program, and of what quotas are about: see SameProgram.
	program, sum string
	// overridden says that there are override policies, to which clusters are not alike.
	overridden bool
	// bounded says that there are quotas, for which it counts how many replicas are wanted, whatever has them.
	bounded bool
	// spec is what was decided, of which Of takes what it says of one cluster.
	spec      *workv1alpha2.ResourceBindingSpec
	preserved func(cluster string) bool
}

// Digest returns the hash of what is the same for all clusters. Where else the application is, was or is needed is not in it, as no
// Work depends on that but by its own share: one cluster more or less must not have the Works of a thousand others rendered.
func (o Origin) Digest() (Digest, error) {
	spec := o.Binding.BindingSpec()
	of := *spec
	// Of has what a Work takes from these. The time is what the scheduler goes by.
	of.Clusters, of.RequiredBy, of.GracefulEvictionTasks, of.PreservedIn, of.Suspension, of.RescheduleTriggeredAt = nil, nil, nil, nil, nil, nil
	var all []workv1alpha2.TargetCluster
	if sharesCompletions(spec.Resource.Kind, spec) {
		all = bindings.Targets(spec) // one's share is what the others leave
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

// Of returns what contract.RenderedFromAnnotation says on the Work of a target, given its Cluster. It covers the labels and
// annotations of the Work, so that it holds of no Work on which somebody changed one. Nothing is changed.
func (d Digest) Of(work *workv1alpha1.Work, target workv1alpha2.TargetCluster, cluster *clusterv1alpha1.Cluster) string {
	h := sha256.New()
	line := func(values ...any) {
		_, _ = fmt.Fprintf(h, "%q\n", values) // a hash never fails
	}
	line(d.sum, work.Namespace, work.Name)
	line("suspended", strconv.FormatBool(bindings.Suspended(d.spec.Suspension, target.Name)))
	line("preserved", strconv.FormatBool(d.preserved(target.Name)))
	if bindings.IsWorkload(d.spec) || d.bounded { // what a workload needs has the replicas of that workload, and no use for them
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

// SameProgram says whether two marks that Of made are of one program, and of quotas that are about the same resources.
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
