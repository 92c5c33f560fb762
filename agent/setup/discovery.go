package setup

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
)

// memberDiscovery asks what the member serves, and whether it is ready to say so.
type memberDiscovery struct {
	*discovery.DiscoveryClient
}

// Ready implements execution.Discovery. An agent that may not ask goes on as if the member were ready: it could never end a
// Work otherwise.
func (d memberDiscovery) Ready(ctx context.Context) error {
	for _, path := range []string{"/readyz", "/healthz"} { // what is not Kubernetes' own may have the one only
		err := d.RESTClient().Get().AbsPath(path).Do(ctx).Error()
		switch {
		case err == nil, apierrors.IsForbidden(err):
			return nil
		case apierrors.IsInternalError(err): // that is its answer, and no failure of ours
			return fmt.Errorf("the member's API server is not ready, and may leave out some of what it serves: "+
				"`kubectl get --raw '%s?verbose'` there says what it waits for; this is tried again by itself", path)
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("asking whether the member's API server is ready: %w", err)
		}
	}
	return nil
}
