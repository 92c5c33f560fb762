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
	"fairlead.dev/manifests"
)

// Options say what else is installed beside the manifests.
type Options struct {
	// ClusterInfo is published for agents that join. Nil publishes nothing.
	ClusterInfo *ClusterInfo
	// AdoptClusterInfo writes ClusterInfo over one that somebody else wrote. Without it
	// theirs is left alone: a cluster of kubeadm has its own.
	AdoptClusterInfo bool
	// Version is the version of the hub. What a newer one installed is left as it is, unless AllowDowngrade says otherwise; without a
	// version nothing is compared.
	Version        string
	AllowDowngrade bool
}

// How long an API server that has just started and whose database is not full may take: minutes where thousands of agents come back at once.
const (
	installTimeout  = 10 * time.Minute
	installPoll     = 25 * time.Millisecond
	installProgress = 30 * time.Second
)

// Install makes the API server that of a hub and returns when all its kinds are served
// and its policies are in force.
// It may be called on every start, by several hubs at once: what is as it should be is
// not written.
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

// install does what Install does. An installation that takes too long is given up, unless the database was full: it begins again for as
// long as people take to make room, who use the API of this hub for it.
func (i *installer) install(ctx context.Context, cfg *rest.Config, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
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

// try installs once.
func (i *installer) try(ctx context.Context, cfg *rest.Config, o Options) error {
	install := i.all
	if o.Version != "" {
		install = func(ctx context.Context) error {
			return i.holdingLock(ctx, cfg, func(ctx context.Context) error { return i.versioned(ctx, o, i.all) })
		}
	}
	err := install(ctx)
	if err == nil && o.ClusterInfo != nil {
		err = i.retry(ctx, func(ctx context.Context) error { return i.clusterInfo(ctx, *o.ClusterInfo, o.AdoptClusterInfo) })
	}
	return err
}

// all installs everything but what agents are told.
func (i *installer) all(ctx context.Context) error {
	for _, phase := range []func(context.Context) error{i.crds, i.namespaces, i.rbac, i.flow, i.policies, i.retire, i.awaitPolicies} {
		if err := phase(ctx); err != nil {
			return err
		}
	}
	return nil
}

// installer holds what the phases of an installation share.
type installer struct {
	hubClient client.Client
	// mutates says whether the API server has mutating admission policies.
	mutates bool
	// last is the kind and the name of the object that was begun last.
	last atomic.Pointer[string]
	// timeout is how long a try may take, and every how often it is told how far it is.
	timeout, every time.Duration
	// failed is why the last request was refused.
	failed failure
}

// progress says every now and then how far an installation is that takes long.
func (i *installer) progress(ctx context.Context) {
	_ = wait.PollUntilContextCancel(ctx, i.every, false, func(ctx context.Context) (bool, error) { // it ends with the installation
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

// flow gives agents a share of the API server of their own. An API server that serves no such kinds, or only
// older versions of them, shares among all.
func (i *installer) flow(ctx context.Context) error {
	objects, err := manifests.Flow()
	if err != nil {
		return err
	}
	slices.Reverse(objects) // a level is there before what names it
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

// apply applies one object, again and again while the API server is only just coming up:
// its own namespaces, for one, appear a moment after it is ready.
func (i *installer) apply(ctx context.Context, obj *unstructured.Unstructured) error {
	kind, name := obj.GetKind(), obj.GetName()
	i.last.Store(new(kind + " " + name))
	err := i.retry(ctx, func(ctx context.Context) error {
		desired := obj.DeepCopy() // the client writes the answer into what it is given
		return i.hubClient.Apply(ctx, client.ApplyConfigurationFromUnstructured(desired),
			client.FieldOwner(contract.FieldManagerInstall), client.ForceOwnership)
	})
	if err != nil {
		return fmt.Errorf("installing %s %q: %w", kind, name, err)
	}
	ctrl.LoggerFrom(ctx).V(1).Info("Installed", "kind", kind, "name", name)
	return nil
}

// retry tries until it succeeds, as the function retry does, and keeps why the last try failed.
func (i *installer) retry(ctx context.Context, try func(context.Context) error) error {
	return retry(ctx, func(ctx context.Context) error {
		err := try(ctx)
		i.failed.keep(err)
		return err
	})
}

// retry tries again and again until it succeeds, or fails in a way that waiting does not mend.
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

// permanentError returns an error that waiting does not mend, and nil for any other.
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

// isDiscovery says whether the API server could not tell all of what it serves.
func isDiscovery(err error) bool {
	failed := &apiutil.ErrResourceDiscoveryFailed{}
	return errors.As(err, &failed)
}

// isBuiltIn says whether the kind that is not known is one of Kubernetes, which does not
// come by waiting.
func isBuiltIn(err error) bool {
	kind := &meta.NoKindMatchError{}
	return errors.As(err, &kind) && (kind.GroupKind.Group == "admissionregistration.k8s.io" || kind.GroupKind.Group == "flowcontrol.apiserver.k8s.io")
}
