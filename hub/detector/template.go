package detector

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/detector/bind"
	"fairlead.dev/hub/detector/claim"
)

// Reasons why a policy is not applied.
var (
	// errOtherOwner means that the binding's name is taken.
	errOtherOwner = errors.New("the binding belongs to another object")
	// errWaiting means that the policy depends on an override policy that is yet to
	// come, and that wakes us.
	errWaiting = errors.New("waiting for dependent overrides")
	// errComponents and errReplicas mean that the rules of the kind could not tell what the
	// template asks for.
	errComponents = errors.New("reading the components")
	errReplicas   = errors.New("reading the replicas")
	// errGone means that the template is not there any more, which its watch will say.
	errGone = errors.New("the template is gone")
)

// reconcileTemplate gives a template the binding that its policy asks for, or takes
// the claim away if no policy selects it.
func (r *Reconciler) reconcileTemplate(ctx context.Context, req request) (reconcile.Result, error) {
	t, state, err := r.kinds.template(ctx, req)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case state == unwatched:
		r.queue.now(request{Kind: req.Kind}) // its first list brings the template back
		return reconcile.Result{}, nil
	case state == syncing:
		return reconcile.Result{RequeueAfter: r.kinds.untilSynced(req.Kind)}, nil
	case state == gone:
		r.said.Forget(req)
		return reconcile.Result{}, r.releaseOrphan(ctx, req)
	case t.Labels[contract.ClaimedByLabel] != "", r.exclusions.Excludes(targetOf(t)):
		return reconcile.Result{}, r.releaseExcluded(ctx, t)
	}

	p, victim, err := r.policyOf(ctx, t)
	if err != nil {
		return reconcile.Result{}, err
	}
	if p == nil {
		r.said.Forget(req)
		return reconcile.Result{}, r.release(ctx, t)
	}
	err = r.apply(ctx, req, t, p)
	if errors.Is(err, errGone) {
		return reconcile.Result{}, nil
	}
	r.reportOutcome(req, t, p, victim, err)
	if errors.Is(err, errWaiting) {
		err = nil
	}
	return reconcile.Result{}, err
}

// apply claims a template for a policy and brings its binding up to date.
func (r *Reconciler) apply(ctx context.Context, req request, t *metav1.PartialObjectMetadata, p policyv1alpha1.Policy) error {
	c := claim.By(p)
	before, _ := claim.On(t)
	switch {
	case t.DeletionTimestamp != nil:
		return nil // no binding for what is about to go
	case c.ID == "":
		return nil // the policy gets its id first, and wakes us
	case before.Key() != c.Key():
		if err := r.dependencies(ctx, p); err != nil {
			return err
		}
	}

	b, exists, err := r.bindingOf(ctx, t)
	if err != nil {
		return err
	}
	activation, err := r.activation(ctx, t, p, exists)
	if err != nil {
		return err
	}
	if !activation.Bind {
		return r.postpone(ctx, req, t, b, exists, p, activation)
	}
	whole, err := r.claim(ctx, req, t, c)
	if err != nil {
		return err
	}
	if exists && !bind.Owned(b, t) {
		ref := b.BindingSpec().Resource
		return fmt.Errorf("%w: %q is that of %s %s %q with uid %s; if that object is gone, it will be removed shortly, "+
			"and else one of the two must be renamed", errOtherOwner, b.GetName(), ref.APIVersion, ref.Kind, ref.Name, ref.UID)
	}
	if exists && b.GetDeletionTimestamp() != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Waiting for the old binding to go", "binding", b.GetName())
		return nil // its end wakes us
	}

	template := bind.Template{Kind: t.GroupVersionKind(), Meta: t}
	template.Rules = interpreter.Version(r.interpreter, template.Kind)
	current := exists && bind.Current(b, t, template.Rules)
	if !current && r.isWorkload(template.Kind) {
		if whole == nil {
			if whole, err = r.whole(ctx, t); whole == nil || err != nil {
				return err
			}
		}
		if err := r.readWorkload(ctx, &template, whole); err != nil {
			return err
		}
	}
	template.ReturnToPreferred = p.GetAnnotations()[contract.ReturnToPreferredAnnotation]
	if template.Priority, err = r.priority(ctx, p); err != nil {
		return err
	}
	if !exists {
		b = bindingKind(t).New()
	}
	if err := r.write(ctx, t, b, exists, func() {
		bind.Update(b, template, c, p.PropagationSpec())
		bind.Identify(b, uuid.NewUUID())
	}, p); err != nil {
		return err
	}
	if t.Annotations[contract.TemplateEditAnnotation] == activation.Seen {
		return nil
	}
	return r.mark(ctx, req, t, func(obj metav1.Object) { setSeen(obj, activation.Seen) })
}

// isWorkload says whether a rule tells what the templates of a kind ask for.
func (r *Reconciler) isWorkload(kind schema.GroupVersionKind) bool {
	return r.interpreter.Has(kind, interpreter.InterpretComponent) || r.interpreter.Has(kind, interpreter.InterpretReplica)
}

// readWorkload reads what a template asks for: its components, or its replicas if its
// kind has no rule for those.
func (r *Reconciler) readWorkload(ctx context.Context, template *bind.Template, whole *unstructured.Unstructured) (err error) {
	template.Meta = whole
	if r.interpreter.Has(template.Kind, interpreter.InterpretComponent) {
		if template.Components, err = r.interpreter.Components(ctx, whole); err != nil {
			return fmt.Errorf("%w of %s %q: %w", errComponents, whole.GetKind(), whole.GetName(), err)
		}
		return nil
	}
	if template.Replicas, template.Requirements, err = r.interpreter.Replicas(ctx, whole); err != nil {
		return fmt.Errorf("%w of %s %q: %w", errReplicas, whole.GetKind(), whole.GetName(), err)
	}
	return nil
}

// write creates or changes a binding, and tells of it if it was written.
func (r *Reconciler) write(
	ctx context.Context, t *metav1.PartialObjectMetadata, b kube.Binding, exists bool, update func(), p policyv1alpha1.Policy,
) error {
	if !exists {
		update()
		err := r.hubClient.Create(ctx, b, client.FieldOwner(contract.FieldManagerDetector))
		switch {
		case apierrors.IsAlreadyExists(err): // the cache is behind
			return apierrors.NewConflict(workv1alpha2.GroupVersion.WithResource("bindings").GroupResource(), b.GetName(), err)
		case err != nil:
			return fmt.Errorf("creating binding %q: %w", b.GetName(), err)
		}
	} else {
		edit, err := kube.Begin(b)
		if err != nil {
			return err
		}
		update()
		if wrote, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerDetector); !wrote || err != nil {
			return err
		}
	}
	b.SetManagedFields(nil)
	r.bindings.Put(client.ObjectKeyFromObject(b), b)
	ctrl.LoggerFrom(ctx).Info("Applied policy to template", "policy", p.GetName(), "binding", b.GetName(), "created", !exists)
	r.events(applied(t, p))
	if r.interpreter.Has(t.GroupVersionKind(), interpreter.InterpretComponent) {
		r.events(gotComponents(t, len(b.BindingSpec().Components)))
	} else if r.interpreter.Has(t.GroupVersionKind(), interpreter.InterpretReplica) {
		r.events(gotReplicas(t, b.BindingSpec().Replicas))
	}
	return nil
}

// claim puts the claim of a policy on a template that has another or none. For a
// workload it returns the whole object, which comes with the answer of the write;
// else nil.
func (r *Reconciler) claim(ctx context.Context, req request, t *metav1.PartialObjectMetadata, c claim.Claim) (*unstructured.Unstructured, error) {
	if has, ok := claim.On(t); ok && has == c {
		return nil, nil
	}
	if !r.isWorkload(t.GroupVersionKind()) {
		return nil, r.mark(ctx, req, t, func(obj metav1.Object) { claim.Set(obj, c) })
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(t)
	if err != nil {
		return nil, fmt.Errorf("encoding %s %q: %w", t.Kind, t.Name, err)
	}
	u := &unstructured.Unstructured{Object: content}
	edit, err := kube.Begin(u)
	if err != nil {
		return nil, err
	}
	claim.Set(u, c)
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerDetector); err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, t); err != nil {
		return nil, fmt.Errorf("decoding %s %q: %w", t.Kind, t.Name, err)
	}
	t.ManagedFields = nil
	r.kinds.written.Put(req, t)
	return u, nil
}

// mark changes the metadata of a template.
func (r *Reconciler) mark(ctx context.Context, req request, t *metav1.PartialObjectMetadata, change func(metav1.Object)) error {
	kind := t.GroupVersionKind()
	edit, err := kube.Begin(t)
	if err != nil {
		return err
	}
	change(t)
	wrote, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerDetector)
	if !wrote || err != nil {
		return err
	}
	t.SetGroupVersionKind(kind)
	t.ManagedFields = nil
	r.kinds.written.Put(req, t)
	return nil
}

// release takes the claim from the binding of a template, and then from the template:
// in this order, so that it is done again if it stops half-way. The binding stays.
func (r *Reconciler) release(ctx context.Context, t *metav1.PartialObjectMetadata) error {
	b, exists, err := r.bindingOf(ctx, t)
	if err != nil {
		return err
	}
	if exists && bind.Owned(b, t) { // it may be that of another object whose binding has the same name
		if err := r.releaseBinding(ctx, b); err != nil {
			return err
		}
	}
	if !claim.Clear(t.DeepCopy()) {
		return nil
	}
	err = r.mark(ctx, requestFor(t.GroupVersionKind(), t), t, func(obj metav1.Object) { claim.Clear(obj) })
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	ctrl.LoggerFrom(ctx).Info("Released template, no policy selects it")
	return nil
}

// releaseExcluded takes the claim of a policy that is going, or gone, from a template
// that policies no longer get: the policy would wait for it for ever. Any other claim
// stays as it is.
func (r *Reconciler) releaseExcluded(ctx context.Context, t *metav1.PartialObjectMetadata) error {
	c, ok := claim.On(t)
	if !ok {
		b, exists, err := r.bindingOf(ctx, t)
		if !exists || err != nil {
			return err
		}
		if c, ok = claim.On(b); !ok {
			return nil
		}
	}
	p, err := r.policy(ctx, c.Namespace, c.Name)
	if err != nil || (p != nil && p.GetDeletionTimestamp() == nil) {
		return err
	}
	return r.release(ctx, t)
}

// releaseOrphan takes the claim of a policy that is going from the binding of a
// template that is gone, so that the policy need not wait for the garbage collector.
func (r *Reconciler) releaseOrphan(ctx context.Context, req request) error {
	t := kube.MetadataOf(req.Kind)
	t.Namespace, t.Name = req.Namespace, req.Name
	b, exists, err := r.bindingOf(ctx, t)
	if !exists || err != nil || templateOf(b) != req {
		return err
	}
	c, ok := claim.On(b)
	if !ok || b.GetDeletionTimestamp() != nil {
		return nil
	}
	p, err := r.policy(ctx, c.Namespace, c.Name)
	if err != nil || (p != nil && p.GetDeletionTimestamp() == nil) {
		return err
	}
	return r.releaseBinding(ctx, b)
}

func (r *Reconciler) releaseBinding(ctx context.Context, b kube.Binding) error {
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	if !claim.Clear(b) {
		return nil
	}
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerDetector); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.bindings.Put(client.ObjectKeyFromObject(b), b)
	return nil
}
