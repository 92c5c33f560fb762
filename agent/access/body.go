package access

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	kjson "sigs.k8s.io/json"

	"fairlead.dev/agent/access/rules"
)

const (
	// maxBody is how large an object may be that an operator creates, in bytes: API servers take no more.
	maxBody = 3 << 20
	// smallBody is how large one may be that takes none of the maxLarge places, in bytes. Each is held until the request has ended.
	smallBody = 64 << 10
	maxLarge  = 4
)

// protobufPrefix begins what is encoded by application/vnd.kubernetes.protobuf.
const protobufPrefix = "k8s\x00"

// names are how an object that is to be created says it is called.
type names struct {
	Name         string `json:"name"`
	GenerateName string `json:"generateName"`
}

// readNames reads what comes with a request that creates something, whole, puts it back and notes in the request how that is to be
// called: the owner's rules are about names, and the path has none. If the request cannot be judged so, a reason comes back.
func (h *Handler) readNames(r *http.Request, of *rules.Request) (code int, reason string) {
	if r.ContentLength < 0 || r.ContentLength > smallBody {
		select {
		case h.large <- struct{}{}:
			context.AfterFunc(r.Context(), func() { <-h.large }) // when the request has been served
		default:
			return http.StatusTooManyRequests, fmt.Sprintf("%s: its agent takes no more than %d objects at once of more than %d KiB; try again", h.options.Cluster, maxLarge, smallBody>>10)
		}
	}
	var raw []byte
	if r.Body != nil {
		var err error
		if raw, err = io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody)); err != nil {
			if _, isLarge := errors.AsType[*http.MaxBytesError](err); isLarge {
				return http.StatusRequestEntityTooLarge, fmt.Sprintf("%s: the object is larger than the %d MiB that an API takes", h.options.Cluster, maxBody>>20)
			}
			return http.StatusBadRequest, h.options.Cluster + ": the object did not come whole"
		}
	}
	n, err := namesOf(r.Header.Get("Content-Type"), raw)
	if err != nil {
		return http.StatusBadRequest, h.options.Cluster + ": " + err.Error()
	}
	of.BodyName, of.BodyPrefix = n.Name, n.GenerateName
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	return 0, ""
}

// namesOf reads how an object is called, as an API server does. What could be understood in two ways is refused.
func namesOf(contentType string, raw []byte) (names, error) {
	kind := runtime.ContentTypeJSON
	if contentType != "" {
		var err error
		if kind, _, err = mime.ParseMediaType(contentType); err != nil {
			return names{}, errors.New("how the object is encoded cannot be understood")
		}
	}
	if len(raw) == 0 {
		return names{}, nil // what the API server makes nothing of has no name
	}
	switch kind {
	case runtime.ContentTypeJSON:
		var object struct {
			Metadata names `json:"metadata"`
		}
		twice, err := kjson.UnmarshalStrict(raw, &object, kjson.DisallowDuplicateFields)
		if err != nil || len(twice) > 0 {
			return names{}, errors.New("the object is no JSON with one name")
		}
		return object.Metadata, nil
	case runtime.ContentTypeProtobuf:
		// The metadata of each kind of Kubernetes is where that of this one is.
		var unknown runtime.Unknown
		var object metav1.PartialObjectMetadata
		encoded, ok := bytes.CutPrefix(raw, []byte(protobufPrefix))
		if !ok || unknown.Unmarshal(encoded) != nil || object.Unmarshal(unknown.Raw) != nil {
			return names{}, errors.New("the object is none of protobuf")
		}
		return names{Name: object.Name, GenerateName: object.GenerateName}, nil
	default:
		return names{}, fmt.Errorf("an object is created by JSON or protobuf here, and %.70q is neither", kind)
	}
}
