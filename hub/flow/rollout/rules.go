package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/revision"
)

const (
	// ruleSecretsPerPage is how many Secrets of rules a page of their list has.
	ruleSecretsPerPage = 500
	// sweepAgain is when a rollout that is gone is looked at once more: a Secret of it may have been on its way.
	sweepAgain = time.Minute
)

// ruleSecrets knows the Secrets in contract.ClusterNamespace that have the rules of ClusterOverridePolicies in
// revisions of rollouts that are in other namespaces, and deletes what is left over of them: no owner reference
// does. It reads once which there are, live; after that they are those that this process makes and deletes, so
// that a rollout without such rules costs no request. It is safe for use by many goroutines.
type ruleSecrets struct {
	hubClient client.Client
	hubReader client.Reader

	mu     sync.Mutex
	loaded bool
	// all has by rollout what each Secret, by its name, says of itself.
	all map[types.NamespacedName]map[string]revision.RulesOf
}

func newRuleSecrets(c client.Client, live client.Reader) *ruleSecrets {
	return &ruleSecrets{hubClient: c, hubReader: live, all: map[types.NamespacedName]map[string]revision.RulesOf{}}
}

// register has the manager look for what is left over: everywhere when the hub begins to work, and of a rollout
// when that is gone.
func (s *ruleSecrets) register(mgr manager.Manager) error {
	gone := handler.Funcs{DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
		req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)}
		if s.mayHave(req.NamespacedName) {
			q.Add(req)
		} else {
			q.AddAfter(req, sweepAgain) // one may be on its way, and to look costs no request
		}
	}}
	err := kube.NewController(mgr, "rollout-rules", 1).
		Watches(kube.StagedRollouts().New(), gone).
		WatchesRawSource(source.Func(func(_ context.Context, q queue) error {
			q.Add(reconcile.Request{})
			return nil
		})).
		Complete(kube.QuietConflicts(s))
	if err != nil {
		return fmt.Errorf("making the controller of rules that are left over: %w", err)
	}
	return nil
}

// Reconcile deletes what is left over of the rollouts of a name; of all if it is empty.
func (s *ruleSecrets) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if err := s.load(ctx); err != nil {
		return reconcile.Result{}, err
	}
	if req.Name == "" {
		var errs []error
		for _, key := range s.rollouts() {
			_, err := s.sweep(ctx, key)
			errs = append(errs, err)
		}
		return reconcile.Result{}, errors.Join(errs...)
	}
	deleted, err := s.sweep(ctx, req.NamespacedName)
	if err != nil || !deleted {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: sweepAgain}, nil
}

// sweep deletes the Secrets of rollouts of a name that are gone, and of the one that there is those of revisions
// that its status does not name any more; it says whether there were any. Which Secrets there are is looked up
// before the rollout is read: what is made meanwhile is of a rollout that is there, and of a number above that of
// its status.
func (s *ruleSecrets) sweep(ctx context.Context, key types.NamespacedName) (bool, error) {
	secrets := s.of(key)
	if len(secrets) == 0 {
		return false, nil
	}
	rollout := kube.StagedRollouts().New()
	err := s.hubReader.Get(ctx, key, rollout)
	// An API server that does not serve StagedRollouts at the moment says that this one is not found, too.
	if client.IgnoreNotFound(err) != nil || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return false, fmt.Errorf("reading StagedRollout %q: %w", key, err)
	}
	there, deleted := err == nil, false
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		of := secrets[name]
		if there && of.UID == rollout.GetUID() {
			status := rollout.RolloutStatus()
			if of.Revision > status.Revision || !revision.Of(status.Revisions, of.Revision).Zero() {
				continue
			}
			// A status that somebody restored may not name what is still in clusters: the rules go after everything else.
			switch kept, err := s.isKept(ctx, rollout, of.Revision); {
			case err != nil:
				return deleted, err
			case kept:
				continue
			}
		}
		if err := s.remove(ctx, key, name); err != nil {
			return deleted, err
		}
		deleted = true
		ctrl.LoggerFrom(ctx).Info("Deleted rules that were left over", "Secret", name, "StagedRollout", key.String(), "revision", of.Revision)
	}
	return deleted, nil
}

// isKept says whether there is the Secret that has everything but the rules of a revision.
func (s *ruleSecrets) isKept(ctx context.Context, rollout metav1.Object, number int64) (bool, error) {
	key := client.ObjectKey{Namespace: revision.SecretNamespace(rollout), Name: revision.SecretName(rollout, number)}
	err := s.hubReader.Get(ctx, key, kube.MetadataOf(corev1.SchemeGroupVersion.WithKind("Secret")))
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("looking for secret %q: %w", key, err)
	}
	return err == nil, nil
}

// load reads which Secrets there are, unless that is known.
func (s *ruleSecrets) load(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loaded {
		return nil
	}
	for next, more := "", true; more; more = next != "" {
		var list metav1.PartialObjectMetadataList
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
		err := s.hubReader.List(ctx, &list, client.InNamespace(contract.ClusterNamespace), client.HasLabels{contract.RolloutUIDLabel},
			client.Limit(ruleSecretsPerPage), client.Continue(next))
		if err != nil {
			return fmt.Errorf("listing the secrets of rules in %q: %w", contract.ClusterNamespace, err)
		}
		for i := range list.Items {
			s.add(&list.Items[i])
		}
		next = list.Continue
	}
	s.loaded = true
	return nil
}

// remember has a Secret known that is made, if it is one of rules.
func (s *ruleSecrets) remember(secret *corev1.Secret) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(secret)
}

// add passes over what says nothing of a rollout: that is not of the hub.
func (s *ruleSecrets) add(secret metav1.Object) {
	of, ok := revision.RulesOfSecret(secret)
	if !ok {
		return
	}
	if s.all[of.Rollout] == nil {
		s.all[of.Rollout] = map[string]revision.RulesOf{}
	}
	s.all[of.Rollout][secret.GetName()] = of
}

// drop deletes the Secret of a revision, if it has one.
func (s *ruleSecrets) drop(ctx context.Context, rollout kube.Rollout, number int64) error {
	if rollout.GetNamespace() == "" {
		return nil // its rules are where everything else is
	}
	if err := s.load(ctx); err != nil {
		return err
	}
	key, name := client.ObjectKeyFromObject(rollout), revision.RulesName(rollout, number)
	if _, has := s.of(key)[name]; !has {
		return nil
	}
	return s.remove(ctx, key, name)
}

func (s *ruleSecrets) remove(ctx context.Context, of types.NamespacedName, name string) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: contract.ClusterNamespace, Name: name}}
	if err := s.hubClient.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting secret %q in %q of the rollout %q: %w", name, secret.Namespace, of, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all[of], name)
	if len(s.all[of]) == 0 {
		delete(s.all, of)
	}
	return nil
}

// of returns the Secrets of rollouts of a name.
func (s *ruleSecrets) of(key types.NamespacedName) map[string]revision.RulesOf {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.all[key])
}

// mayHave says whether there may be Secrets of rollouts of a name.
func (s *ruleSecrets) mayHave(key types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.loaded || len(s.all[key]) > 0
}

// rollouts returns the names of all rollouts of which there are Secrets.
func (s *ruleSecrets) rollouts() []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.all))
}
