package install

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
)

// AssignsUsers says whether the member assigns the users of pods, and refuses pods that name one of their own: OpenShift does.
func (i *Installer) AssignsUsers() (bool, error) {
	_, err := i.memberClient.RESTMapper().RESTMapping(schema.GroupKind{Group: "security.openshift.io", Kind: "SecurityContextConstraints"})
	switch {
	case meta.IsNoMatchError(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("looking whether the member is OpenShift, which assigns the users of pods: %w; --run-as says it", err)
	}
	return true, nil
}

// PullSecretProblem says what is wrong with a Secret with which the image of the agent is to be pulled, and what to do; empty if nothing is.
func (i *Installer) PullSecretProblem(ctx context.Context, name string) (is, advice string, err error) {
	const namespace = contract.SystemNamespace
	secret := &corev1.Secret{}
	err = i.memberClient.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	create := "`kubectl create secret docker-registry " + name + " -n " + namespace + " --docker-server=… --docker-username=… --docker-password=…` makes one"
	switch {
	case apierrors.IsNotFound(err):
		return "there is no Secret " + namespace + "/" + name + ", with which the image should be pulled",
			create + "; the namespace is there after `kubectl create namespace " + namespace + "`", nil
	case err != nil:
		return "", "", fmt.Errorf("reading the Secret %q with which the image is to be pulled: %w", name, err)
	case secret.Type != corev1.SecretTypeDockerConfigJson && secret.Type != corev1.SecretTypeDockercfg:
		return fmt.Sprintf("the Secret %s/%s, with which the image should be pulled, is of type %s, which nodes cannot use to pull", namespace, name, secret.Type), create, nil
	}
	return "", "", nil
}
