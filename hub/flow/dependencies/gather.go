package dependencies

import (
	"context"
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

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
)

// object is something that a workload needs.
type object struct {
	kind schema.GroupVersionKind
	meta *metav1.PartialObjectMetadata
}

// binding is the name of the binding of the object.
func (o object) binding() types.NamespacedName {
	return types.NamespacedName{Namespace: o.meta.Namespace, Name: contract.BindingName(o.kind.Kind, o.meta.Name)}
}

// kindFor returns the kind of the binding of a name.
func kindFor(key types.NamespacedName) kube.BindingKind {
	if key.Namespace == "" {
		return kube.ClusterResourceBindings()
	}
	return kube.ResourceBindings()
}

// kindOf is the kind of the object of a binding.
func kindOf(b workv1alpha2.Binding) schema.GroupVersionKind {
	ref := b.BindingSpec().Resource
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
}

func ownerOf(b kube.Binding) types.UID {
	if ref := metav1.GetControllerOf(b); ref != nil {
		return ref.UID
	}
	return ""
}

func newID() string { return string(uuid.NewUUID()) }

// binding returns the binding of a name, to be changed at will unless the options say otherwise; nil if there is none.
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

// bindingAt is binding, but for what the cache does not show yet of our own writes.
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

// attached returns the bindings that say that a binding needs them, to be changed at
// will.
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

// referrers returns the bindings that need an object, those that are there: the ones
// that its binding names, and one more that is about to be named. The others are the cache's: hundreds may need one, and each
// names all its clusters.
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

// references returns what the template of a binding needs. It is asked once for each
// version of the template that the binding is about, and of the rules; after a start only if the binding does not say it.
func (r *Reconciler) references(ctx context.Context, b kube.Binding) (reading, error) {
	key, ref := client.ObjectKeyFromObject(b), b.BindingSpec().Resource
	kind := kindOf(b)
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
	// If it was edited in the meantime, the binding will say so and it is read again.
	out := reading{version: version, rules: rules, refs: refs, madeOf: bindings.MadeOf(template, rules)}
	r.read.put(key, out)
	r.events(gotDependencies(b, refs))
	return out, nil
}

// finding is what references mean.
type finding struct {
	objects []object
	// syncing says that the first list of some kind is not here yet, and again when to look.
	syncing bool
	again   time.Duration
	// unserved are kinds that the hub does not know, or not any more.
	unserved []schema.GroupVersionKind
	// permitted is what of the references was followed. If ReferenceGrants are such a kind, what of other namespaces is
	// attached stays.
	permitted permission
	// rules is the version of the rules by which the references were read.
	rules string
}

// find finds what references mean.
func (r *Reconciler) find(ctx context.Context, refs []configv1alpha1.DependentObjectReference) (finding, error) {
	var out finding
	seen := map[string]bool{}
	for _, ref := range refs {
		kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
		if r.exclusions.ExcludesKind(kind) {
			continue
		}
		found, err := r.kinds.find(ctx, kind, ref)
		switch {
		case kube.IsUnserved(err):
			out.unserved = append(out.unserved, kind)
			continue
		case err != nil:
			return finding{}, err
		case found == nil:
			return finding{syncing: true, again: r.kinds.LookAgain(kind)}, nil
		}
		for _, meta := range *found {
			o := object{kind: kind, meta: meta}
			id := kind.GroupKind().String() + " " + o.binding().String()
			if seen[id] || r.exclusions.Excludes(targetOf(o)) {
				continue
			}
			seen[id] = true
			out.objects = append(out.objects, o)
		}
	}
	return out, nil
}

func targetOf(o object) selector.Target {
	return selector.Target{
		APIVersion: o.kind.GroupVersion().String(), Kind: o.kind.Kind,
		Namespace: o.meta.Namespace, Name: o.meta.Name, Labels: o.meta.Labels,
	}
}

func marked(b kube.Binding) bool {
	return controllerutil.ContainsFinalizer(b, contract.DependenciesFinalizer)
}
