package setup

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
)

// memberDiscovery discovers what the member serves, and whether the member is ready to answer that completely.
type memberDiscovery struct {
	*discovery.DiscoveryClient
}

// Ready implements execution.Discovery. An agent without the right to ask goes on as if the member were ready;
// otherwise it could never end a Work.
func (d memberDiscovery) Ready(ctx context.Context) error {
	for _, path := range []string{"/readyz", "/healthz"} { // servers other than Kubernetes' own may serve only one of them
		err := d.RESTClient().Get().AbsPath(path).Do(ctx).Error()
		switch {
		case err == nil, apierrors.IsForbidden(err):
			return nil
		case apierrors.IsInternalError(err): // an answer of the server, not a failure to reach it
			return fmt.Errorf("the member's API server is not ready, and may leave out some of what it serves: "+
				"`kubectl get --raw '%s?verbose'` there says what it waits for; the agent tries again by itself", path)
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("asking whether the member's API server is ready: %w", err)
		}
	}
	return nil
}
