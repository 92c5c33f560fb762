package customizations

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/lua"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
)

// action is the action in the events of this stage.
const action = "Interpret"

// Deps are the dependencies of the stage.
type Deps struct {
	// Compiler is the compiler of the hub's interpreter.
	Compiler *lua.Compiler
	// Failures are the failures of the hub's interpreter.
	Failures *Failures
	// Events takes the events about customizations.
	Events eventsink.Sink
}

// Reconciler checks ResourceInterpreterCustomizations.
type Reconciler struct {
	hubClient client.Client
	compiler  *lua.Compiler
	failures  *Failures
	events    eventsink.Sink
}

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Register adds the stage to a manager.
func Register(mgr manager.Manager, deps Deps) error {
	if deps.Compiler == nil || deps.Failures == nil || deps.Events == nil {
		return errors.New("registering the customizations stage: it needs a compiler, failures and an event sink")
	}
	r := &Reconciler{hubClient: mgr.GetClient(), compiler: deps.Compiler, failures: deps.Failures, events: deps.Events}
	err := kube.NewController(mgr, "customizations", 1).
		For(&configv1alpha1.ResourceInterpreterCustomization{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&configv1alpha1.ResourceInterpreterCustomization{}, r.othersOfTheKind()).
		WatchesRawSource(source.Func(func(_ context.Context, q requests) error {
			deps.Failures.onFirst(func(name string) { q.Add(requestFor(name)) })
			return nil
		})).
		Complete(kube.QuietConflicts(r))
	if err != nil {
		return fmt.Errorf("registering the customizations stage: %w", err)
	}
	return nil
}

func requestFor(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// othersOfTheKind enqueues the other customizations of a kind when one of them changes: it may now take precedence over
// them, or no longer do so.
func (r *Reconciler) othersOfTheKind() handler.EventHandler {
	ask := func(ctx context.Context, q requests, changed ...client.Object) {
		list := &configv1alpha1.ResourceInterpreterCustomizationList{}
		if err := r.hubClient.List(ctx, list); err != nil {
			return // only when the cache stops
		}
		for _, obj := range changed {
			one, ok := obj.(*configv1alpha1.ResourceInterpreterCustomization)
			for i := range list.Items {
				if ok && list.Items[i].Spec.Target == one.Spec.Target && list.Items[i].Name > one.Name {
					q.Add(requestFor(list.Items[i].Name))
				}
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requests) {
			if !e.IsInInitialList {
				ask(ctx, q, e.Object)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			if e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() {
				ask(ctx, q, e.ObjectOld, e.ObjectNew)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requests) { ask(ctx, q, e.Object) },
	}
}

// Reconcile sets the conditions of one customization.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	one := &configv1alpha1.ResourceInterpreterCustomization{}
	if err := r.hubClient.Get(ctx, req.NamespacedName, one); err != nil {
		if apierrors.IsNotFound(err) {
			r.failures.forget(req.Name)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	all := &configv1alpha1.ResourceInterpreterCustomizationList{}
	if err := r.hubClient.List(ctx, all); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing the other customizations: %w", err)
	}
	edit, err := kube.Begin(one)
	if err != nil {
		return reconcile.Result{}, err
	}
	warnings := r.judge(one, all.Items)
	if wrote, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerCustomizations); !wrote || err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	verdict := meta.FindStatusCondition(one.Status.Conditions, configv1alpha1.CustomizationCompiled)
	ctrl.LoggerFrom(ctx).Info("Judged the scripts of a customization", "compiled", verdict.Status, "reason", verdict.Reason)
	for _, c := range warnings {
		r.events(eventsink.Event{Regarding: one, Type: corev1.EventTypeWarning, Reason: c.Reason, Action: action, Note: c.Message})
	}
	return reconcile.Result{}, nil
}

// judge sets the conditions, and returns those to warn about.
func (r *Reconciler) judge(one *configv1alpha1.ResourceInterpreterCustomization, all []configv1alpha1.ResourceInterpreterCustomization) []metav1.Condition {
	conditions := &one.Status.Conditions
	var warnings []metav1.Condition
	verdict := compiled(one.Generation, r.compiler.Check(one, all))
	if meta.SetStatusCondition(conditions, verdict) && verdict.Status == metav1.ConditionFalse {
		warnings = append(warnings, verdict)
	}
	if failure, ok := r.failures.of(one); ok {
		if c := failing(failure); meta.SetStatusCondition(conditions, c) {
			warnings = append(warnings, c)
		}
		return warnings
	}
	before := meta.FindStatusCondition(*conditions, configv1alpha1.CustomizationFailing)
	if before != nil && before.ObservedGeneration != one.Generation {
		meta.RemoveStatusCondition(conditions, configv1alpha1.CustomizationFailing)
	}
	return warnings
}
