package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/quantity"
)

// answer is a validated response.
type answer struct {
	configv1alpha1.ResourceInterpreterResponse

	// patched is the object with the response's patch applied; nil without a patch.
	patched *unstructured.Unstructured
}

// amounts are the quantities of an answer, which are checked before they are parsed: parsing some takes minutes.
type amounts struct {
	Response struct {
		requests
		Components []struct{ requests } `json:"components"`
	} `json:"response"`
}

type requests struct {
	ReplicaRequirements struct {
		ResourceRequest map[string]quantity.Checked `json:"resourceRequest"`
	} `json:"replicaRequirements"`
}

// decode decodes and validates the answer to a question about an object, given as it was sent.
func decode(body []byte, uid types.UID, op interpreter.Operation, object []byte) (answer, error) {
	if err := json.Unmarshal(body, &amounts{}); err != nil {
		return answer{}, fmt.Errorf("the answer is no ResourceInterpreterContext: %w", err)
	}
	var reply configv1alpha1.ResourceInterpreterContext
	if err := json.Unmarshal(body, &reply); err != nil {
		return answer{}, fmt.Errorf("the answer is no ResourceInterpreterContext: %w", err)
	}
	// Servers written with the usual helper library send neither apiVersion nor kind.
	if got := reply.APIVersion; got != "" && got != configv1alpha1.GroupVersion.String() {
		return answer{}, fmt.Errorf("the answer has apiVersion %q instead of %q", got, configv1alpha1.GroupVersion)
	}
	if got := reply.Kind; got != "" && got != configv1alpha1.KindResourceInterpreterContext {
		return answer{}, fmt.Errorf("the answer has kind %q instead of %q", got, configv1alpha1.KindResourceInterpreterContext)
	}
	r := reply.Response
	switch {
	case r == nil:
		return answer{}, errors.New("the answer has no response")
	case r.UID != uid:
		return answer{}, fmt.Errorf("response.uid is %q, and not that of the request, %q", r.UID, uid)
	case !r.Successful && r.Status == nil:
		return answer{}, errors.New("response.successful is false, and response.status does not say why")
	case !r.Successful:
		return answer{}, fmt.Errorf("webhook call failed, get status code: %d, msg: %s", r.Status.Code, r.Status.Message)
	}
	a := answer{ResourceInterpreterResponse: *r}
	return a, a.check(op, object)
}

// check validates the answer to an operation, and applies its patch.
func (a *answer) check(op interpreter.Operation, object []byte) error {
	var err error
	switch op {
	case interpreter.InterpretReplica:
		if a.Replicas == nil {
			return errors.New("response.replicas is required")
		}
		if *a.Replicas < 0 {
			return fmt.Errorf("response.replicas is %d; it must not be negative", *a.Replicas)
		}
	case interpreter.InterpretComponent: // no components is a valid answer
		for _, c := range a.Components {
			if c.Name == "" || c.Replicas < 0 {
				return fmt.Errorf("response.components has %q with %d replicas; each needs a name, and not less than 0 replicas", c.Name, c.Replicas)
			}
		}
	case interpreter.InterpretStatus:
		// The API refuses a whole Work if one status is not an object.
		if a.RawStatus == nil || !bytes.HasPrefix(bytes.TrimSpace(a.RawStatus.Raw), []byte("{")) {
			return errors.New("response.rawStatus is required, and must be an object")
		}
	case interpreter.InterpretHealth:
		if a.Healthy == nil {
			return errors.New("response.healthy is required")
		}
	case interpreter.InterpretDependency:
		if a.Dependencies, err = interpreter.CheckDependencies(a.Dependencies); err != nil {
			return fmt.Errorf("response.dependencies: %w", err)
		}
	case interpreter.ReviseReplica, interpreter.Retain, interpreter.AggregateStatus:
		if a.patched, err = patch(object, a.Patch, a.PatchType); err != nil {
			return fmt.Errorf("response.patch: %w", err)
		}
	}
	return nil
}

// patch returns the object with a patch applied; nil if there is no patch.
func patch(object, patch []byte, patchType *configv1alpha1.PatchType) (*unstructured.Unstructured, error) {
	switch {
	case len(patch) == 0 && patchType == nil:
		return nil, nil //nolint:nilnil // No patch is an answer.
	case patchType == nil:
		return nil, errors.New("there is no patchType with it; it must be JSONPatch")
	case *patchType != configv1alpha1.PatchTypeJSONPatch:
		return nil, fmt.Errorf("patchType is %q; it must be JSONPatch", *patchType)
	case len(patch) == 0:
		return nil, errors.New("there is a patchType without a patch")
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, fmt.Errorf("it is no JSON patch: %w", err)
	}
	options := jsonpatch.NewApplyOptions()
	options.AccumulatedCopySizeLimit = maxAnswer // small copy operations could exhaust the memory
	changed, err := decoded.ApplyWithOptions(object, options)
	if err != nil {
		return nil, fmt.Errorf("applying it: %w", err)
	}
	before, after := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	if err := errors.Join(kjson.Unmarshal(object, &before.Object), kjson.Unmarshal(changed, &after.Object)); err != nil {
		return nil, fmt.Errorf("reading what it makes of the object: %w", err)
	}
	if after.GroupVersionKind() != before.GroupVersionKind() || after.GetNamespace() != before.GetNamespace() || after.GetName() != before.GetName() {
		return nil, errors.New("it makes another object of it: apiVersion, kind, namespace and name must stay as they are")
	}
	return after, nil
}
