package dependencies

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/dependencies/plan"
)

// kindFor returns the kind of a binding by its name.
func kindFor(key types.NamespacedName) kube.BindingKind {
	if key.Namespace == "" {
		return kube.ClusterResourceBindings()
	}
	return kube.ResourceBindings()
}

func ownerOf(b kube.Binding) types.UID {
	if ref := metav1.GetControllerOf(b); ref != nil {
		return ref.UID
	}
	return ""
}

func newID() string { return string(uuid.NewUUID()) }

// gathered is what was read about one workload.
type gathered struct {
	plan.Input

	request  request
	binding  kube.Binding
	attached []kube.Binding
	read     reading
}

// gather reads everything that the decision about a workload depends on, for references that were read before. The error is a syncing if a
// kind is not listed yet. If only the existing objects are unknown, it returns the rest with the error.
func (r *Reconciler) gather(ctx context.Context, req request, b kube.Binding, read reading) (*gathered, error) {
	in := &gathered{request: req, binding: b, read: read}
	in.Binding, in.Marked, in.Recalled = b, marked(b), read.unchanged
	var err error
	if in.attached, err = r.attached(ctx, req); err != nil {
		return nil, err
	}
	for _, other := range in.attached {
		in.Attached = append(in.Attached, other)
	}
	in.Needs = plan.NeedsOf(b, read.refs, r.answerersOf(b), in.Attached)
	// Before any lookup, so that no object that is created or deleted meanwhile is missed.
	if err := r.wants.Set(req, append(plan.GrantsWanted(b, in.Needs.Refs), in.Needs.Refs...)); err != nil {
		return nil, reconcile.TerminalError(fmt.Errorf("reading what %q needs: %w", req, err))
	}
	if in.Permitted, err = r.permit(ctx, b, in.Needs.Refs, in.attached); err != nil {
		return nil, err
	}
	for _, look := range []struct {
		refs []configv1alpha1.DependentObjectReference
		into *plan.Finding
	}{{in.Permitted.Granted, &in.Found}, {in.Permitted.Stays, &in.Stays}, {in.Permitted.Ending, &in.Ending}} {
		found, failed := r.find(ctx, look.refs) // all are looked up, since that starts the watches of their kinds
		*look.into = found
		if _, later := errors.AsType[syncing](err); err == nil || later && failed != nil {
			err = failed // it may be a permanent error
		}
	}
	return in, err
}

// binding returns a binding, which may be modified unless the options say otherwise; nil if it does not exist.
func (r *Reconciler) binding(ctx context.Context, key types.NamespacedName, opts ...client.GetOption) (kube.Binding, error) {
	b := kindFor(key).New()
	err := r.hubClient.Get(ctx, key, b, opts...)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading binding %q: %w", key, err)
	}
	return b, nil
}

// bindingAt is like binding, but includes this stage's writes that the cache does not show yet.
func (r *Reconciler) bindingAt(ctx context.Context, key types.NamespacedName) (kube.Binding, error) {
	b, err := r.binding(ctx, key)
	if err != nil {
		return nil, err
	}
	known := b != nil
	if !known {
		b = kindFor(key).New()
	}
	b, ok := r.wrote.Latest(key, b, known)
	if !ok {
		return nil, nil
	}
	return b, nil
}

// attached returns the bindings that are attached to a binding. They may be modified.
func (r *Reconciler) attached(ctx context.Context, req request) ([]kube.Binding, error) {
	var out []kube.Binding
	for _, kind := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
		found, err := kind.NeededBy(ctx, r.hubClient, req)
		if err != nil {
			return nil, err
		}
		for _, b := range found {
			key := client.ObjectKeyFromObject(b)
			if copied, ok := b.DeepCopyObject().(kube.Binding); ok {
				latest, _ := r.wrote.Latest(key, copied, true)
				out = append(out, latest)
			}
		}
	}
	return out, nil
}

// referrers returns the existing bindings of workloads that need an object: those that its binding names, and one that is about to be
// added. The others are shared with the cache, since hundreds may need one object, and each names all its clusters.
func (r *Reconciler) referrers(ctx context.Context, b kube.Binding, more kube.Binding) ([]workv1alpha2.Binding, error) {
	var out []workv1alpha2.Binding
	if more != nil {
		out = append(out, more)
	}
	for _, key := range bindings.Requirers(b) {
		if more != nil && key == client.ObjectKeyFromObject(more) {
			continue
		}
		other, err := r.binding(ctx, key, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, err
		}
		if other != nil {
			out = append(out, other)
		}
	}
	return out, nil
}

func referrersOf(b kube.Binding) []workv1alpha2.Binding { return []workv1alpha2.Binding{b} }

// references returns what the template of a binding needs. The interpreter is asked once for each version of the template that the binding
// has, and of the rules; after a start only if the binding does not record it.
func (r *Reconciler) references(ctx context.Context, b kube.Binding) (reading, error) {
	key, ref := client.ObjectKeyFromObject(b), b.BindingSpec().Resource
	kind := plan.KindOf(b)
	rules := interpreter.Version(r.interpreter, kind)
	if !r.interpreter.Has(kind, interpreter.InterpretDependency) {
		return reading{rules: rules}, nil
	}
	version := ref.APIVersion + "/" + string(ref.UID) + "/" + ref.ResourceVersion + "/" + rules
	known, ok := r.read.get(key)
	if ok && known.version == version {
		return known, nil
	}
	if refs, unchanged := r.unchanged(b); unchanged && !ok {
		out := reading{version: version, rules: rules, refs: refs, unchanged: true}
		r.read.put(key, out)
		return out, nil
	}
	template := &unstructured.Unstructured{}
	template.SetGroupVersionKind(kind)
	err := r.liveReader.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, template)
	switch {
	case apierrors.IsNotFound(err):
		return reading{}, errGone
	case err != nil:
		return reading{}, fmt.Errorf("reading %s %q: %w", ref.Kind, ref.Name, err)
	}
	refs, err := r.interpreter.Dependencies(ctx, template)
	if err != nil {
		return reading{}, err
	}
	// If the template was edited in the meantime, the binding will change, and the template is read again.
	out := reading{version: version, rules: rules, refs: refs, madeOf: bindings.MadeOf(template, rules)}
	r.read.put(key, out)
	r.events(gotDependencies(b, refs))
	return out, nil
}

// syncing is the error if a kind is needed whose first list is not complete yet.
type syncing struct {
	kind schema.GroupVersionKind
	// again is when to reconcile again.
	again time.Duration
}

// Error implements error.
func (s syncing) Error() string {
	return fmt.Sprintf("the first list of kind %q is not here yet", s.kind)
}

// find returns the objects that references mean. The error is a syncing if a kind is not listed yet.
func (r *Reconciler) find(ctx context.Context, refs []configv1alpha1.DependentObjectReference) (plan.Finding, error) {
	var (
		out   plan.Finding
		later error
	)
	seen := map[string]bool{}
	for _, ref := range refs {
		kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
		if r.exclusions.ExcludesKind(kind) {
			continue
		}
		found, err := r.kinds.find(ctx, kind, ref)
		switch {
		case kube.IsUnserved(err):
			out.Unserved = append(out.Unserved, kind)
			continue
		case err != nil:
			return plan.Finding{}, err
		case found == nil:
			later = syncing{kind: kind, again: r.kinds.LookAgain(kind)} // meanwhile the watches of all kinds start
			continue
		}
		for _, meta := range *found {
			o := plan.Object{Kind: kind, Meta: meta}
			id := kind.GroupKind().String() + " " + o.Binding().String()
			if seen[id] || r.exclusions.Excludes(targetOf(o)) {
				continue
			}
			seen[id] = true
			out.Objects = append(out.Objects, o)
		}
	}
	return out, later
}

func targetOf(o plan.Object) selector.Target {
	return selector.Target{
		APIVersion: o.Kind.GroupVersion().String(), Kind: o.Kind.Kind,
		Namespace: o.Meta.Namespace, Name: o.Meta.Name, Labels: o.Meta.Labels,
	}
}

func marked(b kube.Binding) bool {
	return controllerutil.ContainsFinalizer(b, contract.DependenciesFinalizer)
}
