package apiserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
	"fairlead.dev/manifests"
)

// Options are the options of an installation.
type Options struct {
	// ClusterInfo is published for agents that join; nil publishes nothing.
	ClusterInfo *ClusterInfo
	// AdoptClusterInfo overwrites a cluster-info of somebody else. Otherwise it is left alone: clusters made with
	// kubeadm have their own.
	AdoptClusterInfo bool
	// Exclusions are what is never propagated, which is published for all authenticated users; nil publishes nothing.
	Exclusions *selector.Exclusions
	// Version is the version of the hub. What a newer version installed is left alone unless AllowDowngrade is set;
	// without a version nothing is compared.
	Version        string
	AllowDowngrade bool
}

// installTimeout is for an API server that has just started, and whose database is not full: it may take minutes while
// thousands of agents reconnect.
const (
	installTimeout  = 10 * time.Minute
	installPoll     = 25 * time.Millisecond
	installProgress = 30 * time.Second
)

// Install installs what a hub needs into an API server, and returns when all its kinds are served and its policies are
// in force. It may be called at every start, by several hubs at once: what is up to date is not written.
func Install(ctx context.Context, cfg *rest.Config, o Options) error {
	i, err := newInstaller(cfg)
	if err != nil {
		return err
	}
	return i.install(ctx, cfg, o)
}

func newInstaller(cfg *rest.Config) (*installer, error) {
	scheme, err := kube.NewScheme()
	if err != nil {
		return nil, err
	}
	hubClient, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub's API server: %w", err)
	}
	return &installer{hubClient: hubClient, mutates: true, timeout: installTimeout, every: installProgress}, nil
}

// install implements Install. It gives up after the timeout, unless the database was full: then it starts over for as
// long as people need to free space, for which they use the API of this hub.
func (i *installer) install(ctx context.Context, cfg *rest.Config, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	i.exclusions = o.Exclusions
	go i.progress(ctx)
	for {
		trying, end := context.WithTimeout(ctx, i.timeout)
		err := i.try(trying, cfg, o)
		inTime := trying.Err() == nil
		end()
		if err == nil || inTime || ctx.Err() != nil || !i.failed.wasFull.Swap(false) {
			return err
		}
		ctrl.LoggerFrom(ctx).Info("Installing again what the hub needs: the database of the API was full", "cause", err.Error())
	}
}

// try attempts the installation once.
func (i *installer) try(ctx context.Context, cfg *rest.Config, o Options) error {
	install := i.all
	if o.Version != "" {
		install = func(ctx context.Context) error {
			return i.holdingLock(ctx, cfg, func(ctx context.Context) error { return i.versioned(ctx, o, i.all) })
		}
	}
	err := install(ctx)
	if err == nil && o.Exclusions != nil {
		err = i.publishExclusions(ctx, *o.Exclusions)
	}
	if err == nil && o.ClusterInfo != nil {
		err = i.retry(ctx, func(ctx context.Context) error { return i.clusterInfo(ctx, *o.ClusterInfo, o.AdoptClusterInfo) })
	}
	return err
}

// all installs everything except the ClusterInfo.
func (i *installer) all(ctx context.Context) error {
	for _, phase := range []func(context.Context) error{i.crds, i.namespaces, i.rbac, i.flow, i.policies, i.retire, i.awaitPolicies} {
		if err := phase(ctx); err != nil {
			return err
		}
	}
	return nil
}

// installer has the state that the phases of an installation share.
type installer struct {
	hubClient client.Client
	// mutates says whether the API server serves mutating admission policies.
	mutates bool
	// exclusions are those of Options.
	exclusions *selector.Exclusions
	// last is the kind and name of the object that was last started.
	last atomic.Pointer[string]
	// timeout bounds an attempt, and every is the interval of progress reports.
	timeout, every time.Duration
	// failed has the error of the last request.
	failed failure
}

// progress logs the progress of an installation at intervals.
func (i *installer) progress(ctx context.Context) {
	_ = wait.PollUntilContextCancel(ctx, i.every, false, func(ctx context.Context) (bool, error) { // ends with the installation
		at := "its turn among the hubs of this API"
		if last := i.last.Load(); last != nil {
			at = *last
		}
		log := ctrl.LoggerFrom(ctx).WithValues("at", at)
		switch failed := i.failed.last.Load(); {
		case failed == nil:
			log.Info("Still installing what the hub needs: the API server takes long to answer")
		case isFull(*failed):
			log.Info("Still installing what the hub needs: "+makeRoom+"; the hub goes on when there is room", "cause", (*failed).Error())
		default:
			log.Info("Still installing what the hub needs: the API server does not do what it is asked", "cause", (*failed).Error())
		}
		return false, nil
	})
}

func (i *installer) namespaces(ctx context.Context) error {
	ns := &unstructured.Unstructured{}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	ns.SetName(contract.ClusterNamespace)
	ns.SetLabels(map[string]string{contract.SystemLabel: contract.LabelTrue})
	return i.apply(ctx, ns)
}

func (i *installer) rbac(ctx context.Context) error {
	objects, err := manifests.RBAC()
	if err != nil {
		return err
	}
	return i.applyAll(ctx, objects)
}

// flow gives agents their own share of the API server's capacity. An API server that does not serve these kinds, or
// only older versions, has one share for all.
func (i *installer) flow(ctx context.Context) error {
	objects, err := manifests.Flow()
	if err != nil {
		return err
	}
	slices.Reverse(objects) // priority levels before the flow schemas that refer to them
	for _, obj := range objects {
		err := i.apply(ctx, obj)
		if meta.IsNoMatchError(err) {
			ctrl.LoggerFrom(ctx).V(1).Info("Leaving the requests of agents among all others, the API server is of before Kubernetes 1.29", "name", obj.GetName())
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (i *installer) applyAll(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, obj := range objects {
		if err := i.apply(ctx, obj); err != nil {
			return err
		}
	}
	return nil
}

// apply applies one object. It retries while the API server is still starting: its own namespaces, for example, appear
// a moment after it is ready.
func (i *installer) apply(ctx context.Context, obj *unstructured.Unstructured) error {
	kind, name := obj.GetKind(), obj.GetName()
	i.last.Store(new(kind + " " + name))
	err := i.retry(ctx, func(ctx context.Context) error {
		desired := obj.DeepCopy() // the client overwrites its argument with the response
		return i.hubClient.Apply(ctx, client.ApplyConfigurationFromUnstructured(desired),
			client.FieldOwner(contract.FieldManagerInstall), client.ForceOwnership)
	})
	if err != nil {
		return fmt.Errorf("installing %s %q: %w", kind, name, err)
	}
	ctrl.LoggerFrom(ctx).V(1).Info("Installed", "kind", kind, "name", name)
	return nil
}

// retry retries like the function retry, and records the last error.
func (i *installer) retry(ctx context.Context, try func(context.Context) error) error {
	return retry(ctx, func(ctx context.Context) error {
		err := try(ctx)
		i.failed.keep(err)
		return err
	})
}

// retry retries until it succeeds, or until the error is permanent.
func retry(ctx context.Context, try func(context.Context) error) error {
	last := error(nil)
	err := wait.PollUntilContextCancel(ctx, installPoll, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return last == nil, permanentError(last)
	})
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), last)
	}
	return err
}

// permanentError returns the error if retrying cannot help, and nil otherwise.
func permanentError(err error) error {
	switch {
	case err == nil,
		apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsTooManyRequests(err),
		apierrors.IsServiceUnavailable(err), apierrors.IsInternalError(err),
		apierrors.IsTimeout(err), apierrors.IsServerTimeout(err),
		utilnet.IsConnectionRefused(err), utilnet.IsConnectionReset(err), utilnet.IsProbableEOF(err),
		utilnet.IsTimeout(err), utilnet.IsHTTP2ConnectionLost(err):
		return nil
	case meta.IsNoMatchError(err) && !isBuiltIn(err), isDiscovery(err), isFull(err):
		return nil
	default:
		return err
	}
}

// isDiscovery says whether discovery of some API group failed.
func isDiscovery(err error) bool {
	failed := &apiutil.ErrResourceDiscoveryFailed{}
	return errors.As(err, &failed)
}

// isBuiltIn says whether an unknown kind is a built-in one, which will not appear later.
func isBuiltIn(err error) bool {
	kind := &meta.NoKindMatchError{}
	return errors.As(err, &kind) && (kind.GroupKind.Group == "admissionregistration.k8s.io" || kind.GroupKind.Group == "flowcontrol.apiserver.k8s.io")
}
