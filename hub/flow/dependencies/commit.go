package dependencies

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/dependencies/plan"
)

// written is the result of carrying out a plan.
type written struct {
	// leftOut are the objects that are not attached because their bindings would be too large; message is what the workload's binding says
	// about them.
	leftOut []plan.Object
	message string
	// failed says why not everything could be attached or detached.
	failed error
}

// commit carries out the plan for a workload.
func (r *Reconciler) commit(ctx context.Context, in *gathered, p plan.Plan) (written, error) {
	if p.Keep {
		if err := r.keep(ctx, in.binding); err != nil {
			return written{}, err
		}
	}
	if !p.NoteLast {
		if err := r.note(ctx, in.binding, p.Note); err != nil {
			return written{}, err
		}
	}
	var done written
	if done.leftOut, done.failed = r.apply(ctx, in, p); done.failed != nil {
		return done, done.failed
	}
	if p.NoteLast { // also if an object is left out: that may last, and must not block what is attached
		if err := r.note(ctx, in.binding, p.Note); err != nil {
			return done, err
		}
	}
	var err error
	done.message, err = r.noteLeftOut(ctx, in.binding, done.leftOut)
	return done, err
}

// noteEarly records what a workload needs before it is known which of these objects exist. That may last, if the hub may not list a kind. A
// staged workload only gets the finalizer: its dependencies are recorded once all of them are attached.
func (r *Reconciler) noteEarly(ctx context.Context, in *gathered) error {
	if in == nil {
		return nil // the permitted references are not known either
	}
	r.tellOrphans(in.request, in.binding, in.Needs)
	if !bindings.IsStaged(in.binding) {
		return r.note(ctx, in.binding, plan.NoteOf(in.Input))
	}
	if in.Marked {
		return nil
	}
	return r.keep(ctx, in.binding)
}

// note records on the binding of a workload what it needs and by whose rules, and adds the finalizer, which keeps the binding until nothing
// is attached to it any more.
func (r *Reconciler) note(ctx context.Context, b kube.Binding, note plan.Note) error {
	refs := note.Refs
	if refs == nil {
		refs = []configv1alpha1.DependentObjectReference{}
	}
	data, err := json.Marshal(refs)
	if err != nil {
		return fmt.Errorf("encoding what %q needs: %w", b.GetName(), err)
	}
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	annotations := maps.Clone(b.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[contract.DependenciesAnnotation] = bounded(data)
	if annotations[contract.DependenciesByAnnotation] = note.By; note.By == "" {
		delete(annotations, contract.DependenciesByAnnotation)
	}
	b.SetAnnotations(annotations)
	controllerutil.AddFinalizer(b, contract.DependenciesFinalizer)
	_, err = edit.Commit(ctx, r.hubClient, contract.FieldManagerDependencies)
	return err
}

// bounded returns the value of the annotation for a list of dependencies. A long list is replaced by its hash, in a list, because readers
// expect one. It cannot be parsed as references, so readers assume that anything may be needed.
func bounded(list []byte) string {
	if len(list) <= contract.MaxDependencies {
		return string(list)
	}
	sum := sha256.Sum256(list)
	return fmt.Sprintf(`["sha256:%x"]`, sum)
}

// keep adds the finalizer, which keeps the binding of a workload until nothing is attached to it any more.
func (r *Reconciler) keep(ctx context.Context, b kube.Binding) error {
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	controllerutil.AddFinalizer(b, contract.DependenciesFinalizer)
	_, err = edit.Commit(ctx, r.hubClient, contract.FieldManagerDependencies)
	return err
}

// unmark removes the finalizer and the records from the binding of a workload.
func (r *Reconciler) unmark(ctx context.Context, b kube.Binding) error {
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	annotations := maps.Clone(b.GetAnnotations())
	delete(annotations, contract.DependenciesAnnotation)
	delete(annotations, contract.DependenciesByAnnotation)
	b.SetAnnotations(annotations)
	setLeftOut(b, nil)
	b.SetFinalizers(slices.DeleteFunc(slices.Clone(b.GetFinalizers()), func(f string) bool { return f == contract.DependenciesFinalizer }))
	_, err = edit.Commit(ctx, r.hubClient, contract.FieldManagerDependencies)
	return err
}

// noteLeftOut records on the binding of a workload which dependencies are not propagated because their bindings have no room to name its
// clusters. It returns the message.
func (r *Reconciler) noteLeftOut(ctx context.Context, b kube.Binding, leftOut []plan.Object) (string, error) {
	if len(leftOut) == 0 && meta.FindStatusCondition(b.BindingStatus().Conditions, workv1alpha2.BindingDependenciesLeftOut) == nil {
		return "", nil
	}
	edit, err := kube.Begin(b)
	if err != nil {
		return "", err
	}
	message := setLeftOut(b, leftOut)
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerDependencies); err != nil {
		return "", fmt.Errorf("writing on binding %q what is not sent after its workload: %w", b.GetName(), err)
	}
	return message, nil
}

// create creates a binding that is attached to another one.
func (r *Reconciler) create(ctx context.Context, b, independent kube.Binding) error {
	err := r.hubClient.Create(ctx, b, client.FieldOwner(contract.FieldManagerDependencies))
	switch {
	case apierrors.IsAlreadyExists(err): // the cache is stale
		return apierrors.NewConflict(workv1alpha2.GroupVersion.WithResource("bindings").GroupResource(), b.GetName(), err)
	case err != nil:
		return fmt.Errorf("creating binding %q: %w", b.GetName(), err)
	}
	r.remember(b)
	r.events(followed(independent, b))
	return nil
}

func (r *Reconciler) remember(b kube.Binding) {
	b.SetManagedFields(nil)
	r.wrote.Put(client.ObjectKeyFromObject(b), b)
}
