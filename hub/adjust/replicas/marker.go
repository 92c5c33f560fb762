package replicas

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/adjust/replicas/scale"
)

// marker marks what autoscalers scale, so that its replicas are kept in the members. It is
// asked about the bindings of autoscalers.
type marker struct {
	stage

	interpreter interpreter.Interpreter
	wants       *wants
	// warned has what was last told of each autoscaler, by its binding.
	warned kube.WarnOnce[types.NamespacedName]
}

// Reconcile marks what one autoscaler scales, and takes the mark off what it does not
// scale any more.
func (m *marker) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	b := &workv1alpha2.ResourceBinding{}
	if err := m.hubClient.Get(ctx, req.NamespacedName, b); err != nil {
		if apierrors.IsNotFound(err) {
			m.wants.set(req.NamespacedName, scale.Target{})
			m.warned.Forget(req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !scale.IsAutoscaler(b.Spec.Resource) {
		return reconcile.Result{}, nil
	}
	mark, wanted := scale.Marked(b), scale.Target{}
	if b.DeletionTimestamp.IsZero() {
		var err error
		if wanted, err = m.wanted(ctx, b); err != nil {
			return reconcile.Result{}, err
		}
	}
	m.wants.set(req.NamespacedName, wanted)
	may, err := m.mayMark(ctx, b, wanted)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !may {
		wanted = scale.Target{}
	}
	if mark != (scale.Mark{}) && mark.Target != wanted {
		if err := m.unmark(ctx, b, mark); err != nil {
			return reconcile.Result{}, err
		}
		mark = scale.Mark{}
	}
	if wanted == (scale.Target{}) {
		return reconcile.Result{}, m.record(ctx, b, scale.Mark{})
	}
	return reconcile.Result{}, m.mark(ctx, b, wanted, mark)
}

// wanted returns what the autoscaler of a binding scales: nothing if it does not say so in a
// way that can be read, which its own API server refuses.
func (m *marker) wanted(ctx context.Context, b *workv1alpha2.ResourceBinding) (scale.Target, error) {
	ref := b.Spec.Resource
	autoscaler := &unstructured.Unstructured{}
	autoscaler.SetAPIVersion(ref.APIVersion)
	autoscaler.SetKind(ref.Kind)
	err := m.liveReader.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: ref.Name}, autoscaler)
	switch {
	case apierrors.IsNotFound(err), err == nil && autoscaler.GetUID() != ref.UID:
		return scale.Marked(b).Target, nil // its binding goes next, and wakes us
	case err != nil:
		return scale.Target{}, fmt.Errorf("reading the HorizontalPodAutoscaler %q: %w", ref.Name, err)
	}
	t, err := scale.TargetOf(autoscaler)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Marking nothing", "reason", err.Error())
	}
	return t, nil
}

// mayMark says whether a target may be marked, and tells it if not: whoever may write an autoscaler has the say over what is in its
// namespace, and over the replicas of that. A kind that is not served has nothing to mark; there is a binding when it has.
func (m *marker) mayMark(ctx context.Context, b *workv1alpha2.ResourceBinding, t scale.Target) (bool, error) {
	if t == (scale.Target{}) {
		return true, nil
	}
	namespaced, err := kube.IsNamespaced(m.hubClient.RESTMapper(), t.GroupVersionKind())
	switch {
	case meta.IsNoMatchError(err):
		return true, nil
	case err != nil:
		return false, err
	case !namespaced:
		m.warn(b, inNoNamespace(b, t))
		return false, nil
	}
	kinds, err := m.kindsOf(ctx, b.Namespace, t)
	if err != nil {
		return false, err
	}
	if !slices.ContainsFunc(kinds, func(kind schema.GroupVersionKind) bool { return m.interpreter.Has(kind, interpreter.Retain) }) {
		m.warn(b, cannotRetain(b, t))
		return false, nil
	}
	m.warned.Resolved(client.ObjectKeyFromObject(b), reasonCannotRetain)
	return true, nil
}

// kindsOf returns the kind of a target by which its autoscaler names it, and that by which it is propagated if that is of another version:
// the agents go by the rules of that one.
func (m *marker) kindsOf(ctx context.Context, namespace string, t scale.Target) ([]schema.GroupVersionKind, error) {
	kinds := []schema.GroupVersionKind{t.GroupVersionKind()}
	b := &workv1alpha2.ResourceBinding{}
	err := m.hubClient.Get(ctx, client.ObjectKey{Namespace: namespace, Name: contract.BindingName(t.Kind, t.Name)}, b, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the binding of %s: %w", t, err)
	}
	ref := b.Spec.Resource
	propagated := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	if err == nil && ref.Name == t.Name && propagated != kinds[0] && propagated.GroupKind() == kinds[0].GroupKind() {
		kinds = append(kinds, propagated)
	}
	return kinds, nil
}

// warn tells what is wrong with an autoscaler, once.
func (m *marker) warn(b *workv1alpha2.ResourceBinding, e kube.Event) {
	if m.warned.IsNew(client.ObjectKeyFromObject(b), e.Reason, e.Note) {
		m.events(e)
	}
}

// mark puts the label on a target that does not have it, after it is recorded that it is
// ours. What its author said of the label is left alone: before is the mark that is recorded of
// the target, and another object of its name has a label from its author.
func (m *marker) mark(ctx context.Context, b *workv1alpha2.ResourceBinding, t scale.Target, before scale.Mark) error {
	obj, err := m.read(ctx, b.Namespace, t)
	if err != nil {
		return err
	}
	if obj == nil || obj.Namespace != b.Namespace { // it is not there yet, or not the autoscaler's to scale
		return m.record(ctx, b, before)
	}
	mark := scale.Mark{Target: t, UID: obj.UID}
	if said(obj) {
		if !before.On(obj) {
			mark = scale.Mark{}
		}
		return m.record(ctx, b, mark)
	}
	if err := m.record(ctx, b, mark); err != nil {
		return err
	}
	edit, err := kube.Begin(obj)
	if err != nil {
		return err
	}
	labels := maps.Clone(obj.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[contract.RetainReplicasLabel] = contract.LabelTrue
	obj.SetLabels(labels)
	if _, err := edit.Commit(ctx, m.hubClient, contract.FieldManagerReplicas); err != nil {
		return client.IgnoreNotFound(err)
	}
	ctrl.LoggerFrom(ctx).Info("Keeping the replicas that an autoscaler sets in members", "target", t.String())
	m.events(retained(b, t, obj))
	return nil
}

// said says whether anybody said anything of the label.
func said(obj metav1.Object) bool {
	_, ok := obj.GetLabels()[contract.RetainReplicasLabel]
	return ok
}

// unmark takes the label off what was marked and is not scaled any more.
func (m *marker) unmark(ctx context.Context, b *workv1alpha2.ResourceBinding, mark scale.Mark) error {
	obj, err := m.read(ctx, b.Namespace, mark.Target)
	if obj == nil || err != nil || !mark.On(obj) {
		return err
	}
	edit, err := kube.Begin(obj)
	if err != nil {
		return err
	}
	labels := maps.Clone(obj.Labels)
	if labels[contract.RetainReplicasLabel] == contract.LabelTrue {
		delete(labels, contract.RetainReplicasLabel)
	}
	obj.SetLabels(labels)
	wrote, err := edit.Commit(ctx, m.hubClient, contract.FieldManagerReplicas)
	if wrote {
		ctrl.LoggerFrom(ctx).Info("Not keeping the replicas of members any more", "target", mark.String())
		m.events(notRetained(b, mark.Target, obj))
	}
	return client.IgnoreNotFound(err)
}

// record notes on the binding of an autoscaler which target is marked for it; the binding
// waits for the mark to be taken off before it goes.
func (m *marker) record(ctx context.Context, b *workv1alpha2.ResourceBinding, mark scale.Mark) error {
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	if err := scale.SetMarked(b, mark); err != nil {
		return err
	}
	if mark == (scale.Mark{}) {
		controllerutil.RemoveFinalizer(b, contract.ReplicasFinalizer)
	} else {
		controllerutil.AddFinalizer(b, contract.ReplicasFinalizer)
	}
	if _, err := edit.Commit(ctx, m.hubClient, contract.FieldManagerReplicas); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("recording what is marked for %q: %w", b.Name, err)
	}
	return nil
}

// read returns the metadata of a target as it is now; nil if there is no such object, or
// no such kind.
func (m *marker) read(ctx context.Context, namespace string, t scale.Target) (*metav1.PartialObjectMetadata, error) {
	obj := kube.MetadataOf(t.GroupVersionKind())
	err := m.liveReader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: t.Name}, obj)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the metadata of %s %q: %w", t.Kind, t.Name, err)
	}
	return obj, nil
}
