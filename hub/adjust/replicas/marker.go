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
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/adjust/replicas/scale"
)

// marker labels the targets of autoscalers, so that members retain their replicas. It reconciles the bindings of
// autoscalers.
type marker struct {
	stage

	interpreter interpreter.Interpreter
	wants       *wants
	// warned has the last warning about each autoscaler, by its binding.
	warned kube.WarnOnce[types.NamespacedName]
}

// Reconcile labels the target of one autoscaler, and removes the label from its former target.
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

// wanted returns the target of a binding's autoscaler; none if the target cannot be parsed, which the API server of the
// autoscaler refuses anyway.
func (m *marker) wanted(ctx context.Context, b *workv1alpha2.ResourceBinding) (scale.Target, error) {
	ref := b.Spec.Resource
	autoscaler := &unstructured.Unstructured{}
	autoscaler.SetAPIVersion(ref.APIVersion)
	autoscaler.SetKind(ref.Kind)
	err := m.liveReader.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: ref.Name}, autoscaler)
	switch {
	case apierrors.IsNotFound(err), err == nil && autoscaler.GetUID() != ref.UID:
		return scale.Marked(b).Target, nil // the binding is deleted next, which triggers a reconcile
	case err != nil:
		return scale.Target{}, fmt.Errorf("reading the HorizontalPodAutoscaler %q: %w", ref.Name, err)
	}
	t, err := scale.TargetOf(autoscaler)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Marking nothing", "reason", err.Error())
	}
	return t, nil
}

// mayMark says whether a target may be labelled, and emits a warning if not. The author of an autoscaler may change
// what is in its namespace, and only its replicas. A kind that is not served has nothing to label; once it has, a
// binding triggers a reconcile.
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

// kindsOf returns the kind of a target as its autoscaler names it, and that of its binding if it has another version:
// the agents apply the interpreter's rules for the latter.
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

// warn emits a warning about an autoscaler, once.
func (m *marker) warn(b *workv1alpha2.ResourceBinding, e eventsink.Event) {
	if m.warned.IsNew(client.ObjectKeyFromObject(b), e.Reason, e.Note) {
		m.events(e)
	}
}

// mark labels a target that has no such label, after it has recorded that the label is the stage's. A label set by the
// author is left alone. Before is the recorded mark of the target: if the object has another UID, its label is the
// author's.
func (m *marker) mark(ctx context.Context, b *workv1alpha2.ResourceBinding, t scale.Target, before scale.Mark) error {
	obj, err := m.read(ctx, b.Namespace, t)
	if err != nil {
		return err
	}
	if obj == nil || obj.Namespace != b.Namespace { // it does not exist yet, or is not in the autoscaler's namespace
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

// said says whether the object has the label, with any value.
func said(obj metav1.Object) bool {
	_, ok := obj.GetLabels()[contract.RetainReplicasLabel]
	return ok
}

// unmark removes the label from a former target.
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

// record records the marked target on the autoscaler's binding, and sets or removes the finalizer that holds the
// binding until the label is removed.
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

// read returns the metadata of a target, read live; nil if the object or its kind does not exist.
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
