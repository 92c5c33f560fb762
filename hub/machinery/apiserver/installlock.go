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

// One hub installs at a time. Another goes on after one that was killed.
const (
	installLease = 15 * time.Second
	installRenew = 10 * time.Second
	installRetry = 250 * time.Millisecond
	// identityLength tells hubs apart that install at the same time.
	identityLength = 16
)

// errLost says that an installation was given up in the middle.
var errLost = fmt.Errorf("the API server did not renew the lease for it for %s, so another hub may install by now", installRenew)

// holdingLock runs an installation while no other hub of the API does. If the API server falls silent in the middle, as it may for a while where
// thousands of agents come back at once, it begins again when its turn has come again: what was installed before is found as it should be.
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

// runLocked runs an installation once, when the lock was got and while it is held.
func runLocked(ctx context.Context, lock *recordingLock, install func(context.Context) error) error {
	// What it says of a lease is of no interest: that the installation ends, it takes for a failure.
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

// recordingLock is a lock that keeps why it was not got, which the elector only logs. That another hub has it, or was quicker, is no refusal.
type recordingLock struct {
	resourcelock.Interface

	// record is the lock's record that was read last.
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
		r.failed.keep(nil) // somebody wrote
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
