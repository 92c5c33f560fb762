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

// written is what became of a plan.
type written struct {
	// leftOut is what is not attached since its binding would be too large, and message what the binding of the workload says of that.
	leftOut []plan.Object
	message string
	// failed is why not all that is needed could be attached, or what is not be detached.
	failed error
}

// commit writes what was decided about a workload.
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
	if p.NoteLast { // also if something is left out: that may be so for good, and is no reason to hold up what is not
		if err := r.note(ctx, in.binding, p.Note); err != nil {
			return done, err
		}
	}
	var err error
	done.message, err = r.noteLeftOut(ctx, in.binding, done.leftOut)
	return done, err
}

// noteEarly notes what a workload needs while it is not known yet what of that there is, which may last where the hub may not list a kind. Of
// what goes out in waves only that it is to be kept: that it goes out with what it needs is noted once all of that is attached.
func (r *Reconciler) noteEarly(ctx context.Context, in *gathered) error {
	if in == nil {
		return nil // nor is it known what may follow it
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

// note writes on the binding of a workload what it needs, by whose rules, and that it is to be kept until
// others do not follow it any more.
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

// bounded returns what a binding says of the list of what its workload needs. Of a long one it has only room for a hash, in a list, as
// others expect one. It cannot be read as what is needed, so that whoever asks takes it that all may be.
func bounded(list []byte) string {
	if len(list) <= contract.MaxDependencies {
		return string(list)
	}
	sum := sha256.Sum256(list)
	return fmt.Sprintf(`["sha256:%x"]`, sum)
}

// keep has the binding of a workload stay until others do not follow it any more.
func (r *Reconciler) keep(ctx context.Context, b kube.Binding) error {
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	controllerutil.AddFinalizer(b, contract.DependenciesFinalizer)
	_, err = edit.Commit(ctx, r.hubClient, contract.FieldManagerDependencies)
	return err
}

// unmark lets the binding of a workload go.
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

// noteLeftOut has the binding of a workload say what it needs and is not sent after it, since the binding of that has no room to name its
// clusters. It returns what it says.
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

// create makes a binding that follows another one.
func (r *Reconciler) create(ctx context.Context, b, independent kube.Binding) error {
	err := r.hubClient.Create(ctx, b, client.FieldOwner(contract.FieldManagerDependencies))
	switch {
	case apierrors.IsAlreadyExists(err): // the cache is behind
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
