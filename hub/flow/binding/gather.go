package binding

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/evictions"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/edits"
	"fairlead.dev/common/override"
	"fairlead.dev/common/quota"
	"fairlead.dev/common/revision"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/binding/fanout"
)

// scope is what one binding is rendered from.
type scope struct {
	binding kube.Binding
	targets []workv1alpha2.TargetCluster
	// template is nil if there are no targets, or if it is gone, another one, or not in
	// the namespace of the binding, or if that is being deleted: then nothing is rendered, and what
	// there is stays until the binding is deleted. It is nil as well if all targets are unchanged.
	template *unstructured.Unstructured
	// terminating says that the namespace of the binding is being deleted: no Work gets another content, and none is made.
	terminating bool
	// unseen is the edit that waits for the detector for the longest time.
	unseen edits.Unseen
	// unstaged are the bindings of workloads that need the object and have no rollout.
	unstaged []kube.Binding
	// unchanged are the namespaces of targets whose Works are known to be what would be rendered. They stay as they are.
	unchanged sets.Set[string]
	// outdated are Works that are what is rendered and do not say of what.
	outdated []outdated
	// clusters are the Clusters of the targets that exist and stay.
	clusters map[string]*clusterv1alpha1.Cluster
	// refused are clusters that were targets, and that the namespace may not use.
	refused []failure
	// policies are those that may be about the template.
	policies override.Policies
	// rollouts say which content the clusters get; none if all get the template as it is.
	rollouts []*followed
	// materials are what the Works are made of; nil if the template is.
	materials *materials
	// quotas bound what the Works may request together. boundBefore is what they bounded before if that is more.
	quotas      []quota.Quota
	boundBefore sets.Set[corev1.ResourceName]
	// works are those that there are, live the same by namespace.
	works   []*workv1alpha1.Work
	live    map[string]*workv1alpha1.Work
	suspect sets.Set[types.NamespacedName]
	// keep and purge are the namespaces of clusters that the application is leaving:
	// in its own time, and at once.
	keep, purge sets.Set[string]
	// reasons are why Works go that are not wanted any more.
	reasons fanout.Reasons
}

// gather reads all of it. What comes from the cache is not to be changed.
func (r *reconciler) gather(ctx context.Context, id string, binding kube.Binding) (*scope, error) {
	spec := binding.BindingSpec()
	s := &scope{
		binding:   binding,
		targets:   bindings.Targets(spec),
		unchanged: sets.Set[string]{},
		clusters:  map[string]*clusterv1alpha1.Cluster{},
		keep:      sets.Set[string]{},
		purge:     sets.Set[string]{},
	}
	for i := range spec.GracefulEvictionTasks {
		task := &spec.GracefulEvictionTasks[i]
		namespace := contract.ExecutionNamespace(r.prefix, task.FromCluster)
		if task.PurgeMode.Canonical() == policyv1alpha1.PurgeDirectly {
			s.purge.Insert(namespace)
		} else {
			s.keep.Insert(namespace)
		}
	}

	if err := r.readWorks(ctx, id, s); err != nil {
		return nil, err
	}
	var err error
	if s.reasons, err = r.reasons(ctx, s); err != nil {
		return nil, err
	}
	if len(s.targets) == 0 {
		return s, nil
	}
	if spec.Resource.Namespace != binding.GetNamespace() {
		// Whoever may write bindings in one namespace may not read the Secrets of others.
		ctrl.LoggerFrom(ctx).V(1).Info("Rendering nothing because the template is not in the namespace of the binding")
		return s, nil
	}
	if err := r.readClusters(ctx, s); err != nil {
		return nil, err
	}
	if err := r.readAllowance(ctx, s); err != nil {
		return nil, err
	}
	if err := r.readQuotas(ctx, s); err != nil {
		return nil, err
	}
	if err := r.readRollouts(ctx, s); err != nil {
		return nil, err
	}
	if s.policies, err = kube.OverridePolicies(ctx, r.hubClient, &spec.Resource); err != nil {
		return nil, err
	}
	if err := r.findUnchanged(s); err != nil || len(s.unchanged) == len(s.targets) {
		return s, err
	}
	if err := r.readTerminating(ctx, s); s.terminating || err != nil {
		return s, err
	}
	if r.awaitDetector(s, ""); s.waits() && len(s.rollouts) == 0 {
		return s, nil // before it has looked at all there is no need to
	}
	if s.template, err = r.readTemplate(ctx, &spec.Resource); err == nil && s.template != nil {
		r.awaitDetector(s, bindings.Fingerprint(s.template))
		s.materials = r.materials(ctx, s)
		if !s.waits() && r.madeOf(s) != s.fingerprint() {
			s.unchanged, s.outdated = sets.Set[string]{}, nil // the detector has yet to see this one, and all clusters get it together
		}
	}
	return s, err
}

// readWorks reads the Works of a binding, with all that was written to them.
func (r *reconciler) readWorks(ctx context.Context, id string, s *scope) error {
	written := r.expectations.pending(id)
	cached, err := kube.WorksOf(ctx, r.hubClient, s.binding)
	if err != nil {
		return err
	}
	s.works = latestWorks(s.binding, written, r.executing(cached))
	s.live, s.suspect = byNamespace(s.works), written.suspect
	for _, f := range s.rollouts {
		if f.name == "" {
			f.works = s.live
		}
	}
	return nil
}

// leaving counts the Works in clusters that are no targets any more.
func (r *reconciler) leaving(s *scope) int {
	n := len(s.live)
	for _, target := range s.targets {
		if s.live[contract.ExecutionNamespace(r.prefix, target.Name)] != nil {
			n--
		}
	}
	return n
}

// reasons gathers why the Works go that are in no target.
func (r *reconciler) reasons(ctx context.Context, s *scope) (fanout.Reasons, error) {
	namespace := func(cluster string) string { return contract.ExecutionNamespace(r.prefix, cluster) }
	out := fanout.Reasons{Removed: len(s.targets) == 0 && s.binding.BindingSpec().Placement == nil, Departed: sets.Set[string]{}}
	wanted := sets.Set[string]{}
	for _, target := range s.targets {
		wanted.Insert(namespace(target.Name))
	}
	going := false
	for _, w := range s.works {
		name, ok := contract.ClusterOf(r.prefix, w.Namespace)
		if !ok || wanted.Has(w.Namespace) {
			continue
		}
		going = true
		cluster := &clusterv1alpha1.Cluster{}
		err := r.hubClient.Get(ctx, client.ObjectKey{Name: name}, cluster, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return out, fmt.Errorf("reading cluster %q: %w", name, err)
		}
		// Of one that the cache does not show, the live read before the deletion says whether it left: the cache may be late.
		if err == nil && !cluster.DeletionTimestamp.IsZero() {
			out.Departed.Insert(w.Namespace)
		}
	}
	if !going {
		return out, nil
	}
	out.Evict(evictions.Of(s.binding), namespace)
	return out, r.followEvictions(ctx, s.binding, &out)
}

// followEvictions notes the evictions of the bindings that need this one: what they need
// leaves a cluster for the reason for which they leave it.
func (r *reconciler) followEvictions(ctx context.Context, b kube.Binding, to *fanout.Reasons) error {
	for _, needs := range b.BindingSpec().RequiredBy {
		if needs.Name == "" {
			continue // a namespace follows what is in it, and leaves no cluster; or it is what several have alike
		}
		kind := kube.ResourceBindings()
		if needs.Namespace == "" {
			kind = kube.ClusterResourceBindings()
		}
		other := kind.New()
		err := r.hubClient.Get(ctx, client.ObjectKey{Namespace: needs.Namespace, Name: needs.Name}, other, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading %s %q: %w", kind.Kind, needs.Name, err)
		}
		if err == nil {
			to.Evict(evictions.Of(other), func(cluster string) string { return contract.ExecutionNamespace(r.prefix, cluster) })
		}
	}
	return nil
}

func byNamespace(works []*workv1alpha1.Work) map[string]*workv1alpha1.Work {
	out := make(map[string]*workv1alpha1.Work, len(works))
	for _, w := range works {
		out[w.Namespace] = w
	}
	return out
}

// target is what policies select the template by, and ref what a revision has it as.
func (s *scope) target() selector.Target { return selector.TargetOf(s.template) }
func (s *scope) ref() revision.Ref       { return revision.Part{Object: s.template}.Ref() }

// latestWorks returns the Works of a binding as they are by what the cache shows and what was written
// since. What was written is known by the permanent id, which a binding that somebody copied
// shares with the first: neither must delete the Works of the other.
func latestWorks(b kube.Binding, written pending, cached []*workv1alpha1.Work) []*workv1alpha1.Work {
	return slices.DeleteFunc(written.latest(cached), func(w *workv1alpha1.Work) bool { return !bindings.IsOwn(b, w) })
}

// executing drops Works that are not in an execution namespace: if the prefix of these
// was changed, what the former ones hold is not ours to delete.
func (r *reconciler) executing(works []*workv1alpha1.Work) []*workv1alpha1.Work {
	out := works[:0]
	for _, w := range works {
		if _, ok := contract.ClusterOf(r.prefix, w.Namespace); ok {
			out = append(out, w)
		}
	}
	return out
}

// readTemplate reads the template as it is now; nil if it is gone, or another one that
// bears its name, about which the detector will tell.
func (r *reconciler) readTemplate(ctx context.Context, ref *workv1alpha2.ObjectReference) (*unstructured.Unstructured, error) {
	template := &unstructured.Unstructured{}
	template.SetAPIVersion(ref.APIVersion)
	template.SetKind(ref.Kind)
	err := r.hubReader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, template)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		ctrl.LoggerFrom(ctx).V(1).Info("Rendering nothing because the template is gone")
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the template %s %q: %w", ref.Kind, ref.Name, err)
	}
	if ref.UID != "" && template.GetUID() != ref.UID {
		ctrl.LoggerFrom(ctx).V(1).Info("Rendering nothing because the template is another one")
		return nil, nil
	}
	return template, nil
}

func (r *reconciler) readClusters(ctx context.Context, s *scope) error {
	for _, target := range s.targets {
		cluster := &clusterv1alpha1.Cluster{}
		err := r.hubClient.Get(ctx, client.ObjectKey{Name: target.Name}, cluster, client.UnsafeDisableDeepCopy)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading cluster %q: %w", target.Name, err)
		}
		if cluster.DeletionTimestamp.IsZero() {
			s.clusters[target.Name] = cluster
		}
	}
	return nil
}
