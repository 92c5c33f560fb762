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

// installedName is the name of the ConfigMap with the installed version, and of the lease that lets one hub install at
// a time.
const installedName = "fairlead-installed"

// versionKey is the key of the installed version. During a downgrade, newerKey has the newer version: what only that
// version installed is yet to be removed, by whichever start of an older version gets there.
const (
	versionKey = "version"
	newerKey   = "goesBackFrom"
)

// isOlder says whether a version precedes another one. It is false if one is invalid, such as that of a build without a
// version.
func isOlder(own, other string) bool {
	a, errOwn := utilversion.ParseSemantic(own)
	b, errOther := utilversion.ParseSemantic(other)
	return errOwn == nil && errOther == nil && a.LessThan(b)
}

func installedKey() types.NamespacedName {
	return types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: installedName}
}

// installed returns the installed version, and the newer one from which a downgrade is in progress; empty if unknown or
// none.
func (i *installer) installed(ctx context.Context) (by, newer string, err error) {
	cm := &corev1.ConfigMap{}
	if err := i.hubClient.Get(ctx, installedKey(), cm); client.IgnoreNotFound(err) != nil {
		return "", "", fmt.Errorf("reading which version installed what the hub needs: %w", err)
	}
	return cm.Data[versionKey], cm.Data[newerKey], nil
}

// versioned installs unless a newer version has. An older hub next to a newer one works with what that one installed,
// like agents and clients of the newer version. The version is recorded first: an interrupted installation is repeated
// by its own version, and not replaced by an older one.
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
		newer = before // an earlier downgrade was interrupted
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
	if err := i.retry(ctx, i.removeNewer); err != nil { // only now, when its replacements exist
		return err
	}
	return note("")
}

// recordVersion records the installed version, and the newer one from which a downgrade is in progress; empty if none.
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

// awaitKinds waits until the kinds of this version are served.
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
