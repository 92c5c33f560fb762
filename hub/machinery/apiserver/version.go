package apiserver

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilversion "k8s.io/apimachinery/pkg/util/version"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/manifests"
)

// installedName names the ConfigMap that says which version of the hub installed what is on the API server, and the lease that lets one hub
// install at a time.
const installedName = "fairlead-installed"

// versionKey is where it says so. While an older version goes back from a newer one, that one is at newerKey: what only that one has is yet to
// be removed, by whichever start of an older one gets there.
const (
	versionKey = "version"
	newerKey   = "goesBackFrom"
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

// installed returns the version that installed what is there, and the newer one that it goes back from; empty if that is not known, or none.
func (i *installer) installed(ctx context.Context) (by, newer string, err error) {
	cm := &corev1.ConfigMap{}
	if err := i.hubClient.Get(ctx, installedKey(), cm); client.IgnoreNotFound(err) != nil {
		return "", "", fmt.Errorf("reading which version installed what the hub needs: %w", err)
	}
	return cm.Data[versionKey], cm.Data[newerKey], nil
}

// versioned installs unless a newer version did. An older hub beside a newer one works with what that one installed, as agents and clients of
// the newer one do. The version is noted first: an installation that was killed is made again by its own version, and not by an older one.
func (i *installer) versioned(ctx context.Context, o Options, install func(context.Context) error) error {
	i.last.Store(new("the version of what is installed"))
	var by, before string
	err := i.retry(ctx, func(ctx context.Context) (err error) {
		by, before, err = i.installed(ctx)
		return err
	})
	if err != nil {
		return err
	}
	newer := ""
	switch {
	case isOlder(o.Version, by) && !o.AllowDowngrade:
		ctrl.LoggerFrom(ctx).Info("Leaving definitions, rights and admission policies as a newer hub installed them; upgrade this hub, or go back to its version with --allow-downgrade",
			"installed", by, "own", o.Version)
		return i.awaitKinds(ctx)
	case isOlder(o.Version, by):
		newer = by
	case isOlder(o.Version, before):
		newer = before // one that went back was killed on the way
	}
	note := func(newer string) error {
		return i.retry(ctx, func(ctx context.Context) error { return i.recordVersion(ctx, o.Version, newer) })
	}
	if by != o.Version || newer != before {
		if err := note(newer); err != nil {
			return err
		}
	}
	if err := install(ctx); err != nil || newer == "" {
		return err
	}
	if err := i.retry(ctx, i.removeNewer); err != nil { // only now: what replaces it is there
		return err
	}
	return note("")
}

// recordVersion says which version installs, and which newer one it goes back from; empty if none.
func (i *installer) recordVersion(ctx context.Context, version, newer string) error {
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: installedKey().Namespace, Name: installedName, Labels: map[string]string{contract.SystemLabel: contract.LabelTrue},
		},
		Data: map[string]string{versionKey: version, newerKey: newer},
	}
	err := i.hubClient.Create(ctx, cm, client.FieldOwner(contract.FieldManagerInstall))
	if client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("noting which version installs what the hub needs: %w", err)
	}
	if err == nil {
		return nil
	}
	patch := fmt.Appendf(nil, `{"data":{%q:%q,%q:%q}}`, versionKey, version, newerKey, newer)
	if err := i.hubClient.Patch(ctx, cm, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(contract.FieldManagerInstall)); err != nil {
		return fmt.Errorf("noting which version installs what the hub needs: %w", err)
	}
	return nil
}

// awaitKinds returns when the kinds are served that this version knows.
func (i *installer) awaitKinds(ctx context.Context) error {
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
