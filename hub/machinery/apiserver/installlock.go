package apiserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	ctrl "sigs.k8s.io/controller-runtime"
)

// Only one hub installs at a time. If it is killed, another one continues when the lease expires.
const (
	installLease = 15 * time.Second
	installRenew = 10 * time.Second
	installRetry = 250 * time.Millisecond
	// identityLength is the number of random characters that identify a hub during an installation.
	identityLength = 16
)

// errLost says that an installation was aborted because the lease was lost.
var errLost = fmt.Errorf("the API server did not renew the lease for it for %s, so another hub may install by now", installRenew)

// holdingLock runs an installation while holding a lease that excludes the other hubs of the API. If the lease is lost
// because the API server does not respond, as may happen while thousands of agents reconnect, the installation starts
// over with the next lease, and skips what is up to date.
func (i *installer) holdingLock(ctx context.Context, cfg *rest.Config, install func(context.Context) error) error {
	api, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("connecting to the hub's API server: %w", err)
	}
	lock := &recordingLock{failed: &i.failed, Interface: &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: installedKey().Namespace, Name: installedName}, Client: api.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: rand.String(identityLength)},
	}}
	for {
		i.last.Store(nil)
		err := runLocked(ctx, lock, install)
		if !errors.Is(err, errLost) || ctx.Err() != nil {
			return err
		}
		ctrl.LoggerFrom(ctx).Info("Installing again what the hub needs: its turn was lost in the middle", "cause", err.Error())
	}
}

// runLocked acquires the lock, and runs an installation once while it is held.
func runLocked(ctx context.Context, lock *recordingLock, install func(context.Context) error) error {
	// The elector's log is discarded: it reports the end of the installation as a failure.
	holding, stop := context.WithCancel(logr.NewContext(ctx, logr.Discard()))
	defer stop()
	lock.failed.keep(nil)
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
		if failed := lock.failed.last.Load(); failed != nil {
			return fmt.Errorf("taking Lease %q, by which one hub at a time installs what hubs need: %w", lock.Describe(), *failed)
		}
		return fmt.Errorf("another hub installs what hubs need, or cannot be asked whether it does: start this one again, and look at the others' logs: %w", context.Cause(holding))
	}
}

// recordingLock records why the lock was not acquired, which the elector only logs. It is no error that another hub
// holds it or was faster.
type recordingLock struct {
	resourcelock.Interface

	// record is the last record that was read.
	record []byte
	failed *failure
}

// Get implements resourcelock.Interface.
func (r *recordingLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	holder, record, err := r.Interface.Get(ctx)
	switch {
	case err != nil:
		err = r.keep(ctx, err)
	case !bytes.Equal(record, r.record):
		r.record = record
		r.failed.keep(nil) // somebody was able to write
	}
	return holder, record, err
}

// Create implements resourcelock.Interface.
func (r *recordingLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return r.keep(ctx, r.Interface.Create(ctx, record))
}

// Update implements resourcelock.Interface.
func (r *recordingLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return r.keep(ctx, r.Interface.Update(ctx, record))
}

func (r *recordingLock) keep(ctx context.Context, err error) error {
	switch {
	case err == nil:
		r.failed.keep(nil)
	case ctx.Err() == nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err):
		r.failed.keep(err)
	}
	return err
}
