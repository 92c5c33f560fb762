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
	// ruleSecretsPerPage is the page size when listing Secrets of rules.
	ruleSecretsPerPage = 500
	// sweepAgain is when a deleted rollout is swept once more: a Secret of it may have been in flight.
	sweepAgain = time.Minute
)

// ruleSecrets tracks the Secrets in contract.ClusterNamespace that store rules of ClusterOverridePolicies for revisions of rollouts in
// other namespaces, and deletes leftover ones, since owner references do not work across namespaces. It lists them live once, and then
// tracks those that this process creates and deletes, so that a rollout without such rules costs no request. It is safe for concurrent use.
type ruleSecrets struct {
	hubClient client.Client
	hubReader client.Reader

	mu     sync.Mutex
	loaded bool
	// all has the labels of each Secret, by rollout and the Secret's name.
	all map[types.NamespacedName]map[string]revision.RulesOf
}

func newRuleSecrets(c client.Client, live client.Reader) *ruleSecrets {
	return &ruleSecrets{hubClient: c, hubReader: live, all: map[types.NamespacedName]map[string]revision.RulesOf{}}
}

// register adds the controller that deletes leftovers: of all rollouts when the hub becomes the leader, and of a rollout when it is
// deleted.
func (s *ruleSecrets) register(mgr manager.Manager) error {
	gone := handler.Funcs{DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
		req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)}
		if s.mayHave(req.NamespacedName) {
			q.Add(req)
		} else {
			q.AddAfter(req, sweepAgain) // one may be in flight, and a sweep without Secrets costs no request
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

// Reconcile deletes the leftovers of the rollouts of a name; of all rollouts if it is empty.
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

// sweep deletes the Secrets of deleted rollouts of a name, and, for the existing one, those of revisions that its status does not name any
// more; it returns whether it deleted any. It takes the Secrets before it reads the rollout: those created meanwhile belong to an existing
// rollout, and to a revision above that of its status.
func (s *ruleSecrets) sweep(ctx context.Context, key types.NamespacedName) (bool, error) {
	secrets := s.of(key)
	if len(secrets) == 0 {
		return false, nil
	}
	rollout := kube.StagedRollouts().New()
	err := s.hubReader.Get(ctx, key, rollout)
	// An API server that does not serve StagedRollouts at the moment also answers NotFound.
	if client.IgnoreNotFound(err) != nil || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return false, fmt.Errorf("reading StagedRollout %q: %w", key, err)
	}
	there, deleted := err == nil, false
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		found := secrets[name]
		if there && found.UID == rollout.GetUID() {
			status := rollout.RolloutStatus()
			if found.Revision > status.Revision || !revision.Of(status.Revisions, found.Revision).Zero() {
				continue
			}
			// A status that somebody restored may not name what is still in clusters: the rules go after everything else.
			switch kept, err := s.isKept(ctx, rollout, found.Revision); {
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
		ctrl.LoggerFrom(ctx).Info("Deleted the rules of a rollout that no longer needs them", "Secret", name, "StagedRollout", key.String(), "revision", found.Revision)
	}
	return deleted, nil
}

// isKept returns whether the Secret with everything but the rules of a revision exists.
func (s *ruleSecrets) isKept(ctx context.Context, rollout metav1.Object, number int64) (bool, error) {
	key := client.ObjectKey{Namespace: revision.SecretNamespace(rollout), Name: revision.SecretName(rollout, number)}
	err := s.hubReader.Get(ctx, key, kube.MetadataOf(corev1.SchemeGroupVersion.WithKind("Secret")))
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("looking for secret %q: %w", key, err)
	}
	return err == nil, nil
}

// load lists the Secrets, unless it has done so before.
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

// remember records a Secret that is created, if it is one of rules.
func (s *ruleSecrets) remember(secret *corev1.Secret) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(secret)
}

// add records a Secret. It ignores one that does not name a rollout, which is not the hub's.
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

// drop deletes the Secret with the rules of a revision, if it has one.
func (s *ruleSecrets) drop(ctx context.Context, rollout kube.Rollout, number int64) error {
	if rollout.GetNamespace() == "" {
		return nil // its rules are in the revision's own Secret
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

// mayHave returns whether there may be Secrets of rollouts of a name.
func (s *ruleSecrets) mayHave(key types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.loaded || len(s.all[key]) > 0
}

// rollouts returns the names of all rollouts that have Secrets.
func (s *ruleSecrets) rollouts() []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.all))
}
