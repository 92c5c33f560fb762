package apiserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/manifests"
)

// installedName is that of the ConfigMap that says which version installed what is there, and of the lease that lets one hub install at a
// time.
const installedName = "fairlead-installed"

// versionKey is where it says so.
const versionKey = "version"

// One hub installs at a time. Another goes on after one that was killed.
const (
	installLease = 15 * time.Second
	installRenew = 10 * time.Second
	installRetry = 250 * time.Millisecond
	// identityLength tells hubs apart that install at the same time.
	identityLength = 16
)

// isOlder says whether a version is of before another. Of one that is none, such as that of a build without a version, nobody knows.
func isOlder(own, other string) bool {
	a, errOwn := utilversion.ParseSemantic(own)
	b, errOther := utilversion.ParseSemantic(other)
	return errOwn == nil && errOther == nil && a.LessThan(b)
}

func installedKey() types.NamespacedName {
	return types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: installedName}
}

// installed returns the version that installed what is there; empty if that is not known.
func (i *installer) installed(ctx context.Context) (string, error) {
	cm := &corev1.ConfigMap{}
	if err := i.hubClient.Get(ctx, installedKey(), cm); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading which version installed what the hub needs: %w", err)
	}
	return cm.Data[versionKey], nil
}

// versioned installs unless a newer version did. An older hub beside a newer one works with what that one installed, as agents and clients of
// the newer one do. The version is noted first: an installation that was killed is made again by its own version, and not by an older one.
func (i *installer) versioned(ctx context.Context, o Options, install func(context.Context) error) error {
	i.last.Store(new("the version of what is installed"))
	var by string
	err := retry(ctx, func(ctx context.Context) (err error) {
		by, err = i.installed(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if isOlder(o.Version, by) && !o.AllowDowngrade {
		ctrl.LoggerFrom(ctx).Info("Leaving definitions, rights and admission policies as a newer hub installed them; upgrade this hub, or go back to its version with --allow-downgrade",
			"installed", by, "own", o.Version)
		return i.await(ctx)
	}
	if by != o.Version {
		if err := retry(ctx, func(ctx context.Context) error { return i.note(ctx, o.Version) }); err != nil {
			return err
		}
	}
	return install(ctx)
}

// note says which version installs.
func (i *installer) note(ctx context.Context, version string) error {
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: installedKey().Namespace, Name: installedName, Labels: map[string]string{contract.SystemLabel: contract.LabelTrue},
		},
		Data: map[string]string{versionKey: version},
	}
	err := i.hubClient.Create(ctx, cm, client.FieldOwner(contract.FieldManagerInstall))
	if client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("noting which version installs what the hub needs: %w", err)
	}
	if err == nil {
		return nil
	}
	patch := fmt.Appendf(nil, `{"data":{%q:%q}}`, versionKey, version)
	if err := i.hubClient.Patch(ctx, cm, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(contract.FieldManagerInstall)); err != nil {
		return fmt.Errorf("noting which version installs what the hub needs: %w", err)
	}
	return nil
}

// await returns when the kinds are served that this version knows.
func (i *installer) await(ctx context.Context) error {
	definitions, err := manifests.TypedCRDs()
	if err != nil {
		return err
	}
	for _, crd := range definitions {
		if err := i.awaitServed(ctx, crd); err != nil {
			return err
		}
	}
	return nil
}

// errLost says that an installation was given up in the middle.
var errLost = fmt.Errorf("the API server did not answer for %s, so another hub may install by now", installRenew)

// exclusively runs an installation while no other hub of the API does. If the API server falls silent in the middle, as it may for a while where
// thousands of agents come back at once, it begins again when its turn has come again: what was installed before is found as it should be.
func exclusively(ctx context.Context, cfg *rest.Config, install func(context.Context) error) error {
	api, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("connecting to the hub's API server: %w", err)
	}
	lock := &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: installedKey().Namespace, Name: installedName}, Client: api.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: rand.String(identityLength)},
	}
	for {
		err := leading(ctx, lock, install)
		if !errors.Is(err, errLost) || ctx.Err() != nil {
			return err
		}
		ctrl.LoggerFrom(ctx).Info("Installing again what the hub needs: the API server was silent in the middle", "cause", err.Error())
	}
}

// leading runs an installation once, when the lock was got and while it is held.
func leading(ctx context.Context, lock resourcelock.Interface, install func(context.Context) error) error {
	// What it says of a lease is of no interest: that the installation ends, it takes for a failure.
	holding, stop := context.WithCancel(logr.NewContext(ctx, logr.Discard()))
	defer stop()
	began, result := make(chan struct{}), make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: installLease, RenewDeadline: installRenew, RetryPeriod: installRetry, ReleaseOnCancel: true, Name: installedName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				close(began)
				err := install(ctrl.LoggerInto(leading, ctrl.LoggerFrom(ctx)))
				if err != nil && leading.Err() != nil && ctx.Err() == nil {
					err = fmt.Errorf("%w: %w", errLost, err)
				}
				result <- err
				stop()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("setting up the installation: %w", err)
	}
	elector.Run(holding)
	select {
	case <-began:
		return <-result
	default:
		return fmt.Errorf("another hub installs what hubs need, or cannot be asked whether it does: start this one again, and look at the others' logs: %w", context.Cause(holding))
	}
}
