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
	// maxBody bounds the object that an operator creates, in bytes, like the API server's own limit.
	maxBody = 3 << 20
	// smallBody is the size in bytes up to which an object does not count towards maxLarge. Each object is held in
	// memory until its request has ended.
	smallBody = 64 << 10
	maxLarge  = 4
)

// protobufPrefix starts every body of type application/vnd.kubernetes.protobuf.
const protobufPrefix = "k8s\x00"

// names are the name and the name prefix of an object that is to be created.
type names struct {
	Name         string `json:"name"`
	GenerateName string `json:"generateName"`
}

// readNames reads the whole body of a request that creates something, puts it back, and records the name in it in the
// request: the owner's rules are about names, and the path of such a request has none. If the body cannot be judged,
// it returns why.
func (h *Handler) readNames(r *http.Request, of *rules.Request) (code int, reason string) {
	if r.ContentLength < 0 || r.ContentLength > smallBody {
		select {
		case h.large <- struct{}{}:
			context.AfterFunc(r.Context(), func() { <-h.large }) // frees the place when the request has been served
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
			return http.StatusBadRequest, h.options.Cluster + ": the object did not arrive completely"
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

// namesOf decodes the name of an object as an API server would. It refuses bodies that could be decoded in two ways.
func namesOf(contentType string, raw []byte) (names, error) {
	kind := runtime.ContentTypeJSON
	if contentType != "" {
		var err error
		if kind, _, err = mime.ParseMediaType(contentType); err != nil {
			return names{}, errors.New("the encoding of the object cannot be understood")
		}
	}
	if len(raw) == 0 {
		return names{}, nil // the API server refuses an empty body
	}
	switch kind {
	case runtime.ContentTypeJSON:
		var object struct {
			Metadata names `json:"metadata"`
		}
		twice, err := kjson.UnmarshalStrict(raw, &object, kjson.DisallowDuplicateFields)
		if err != nil || len(twice) > 0 {
			return names{}, errors.New("the object is not JSON with one name")
		}
		return object.Metadata, nil
	case runtime.ContentTypeProtobuf:
		// The metadata is the first field of every Kubernetes kind, as of this one.
		var unknown runtime.Unknown
		var object metav1.PartialObjectMetadata
		encoded, ok := bytes.CutPrefix(raw, []byte(protobufPrefix))
		if !ok || unknown.Unmarshal(encoded) != nil || object.Unmarshal(unknown.Raw) != nil {
			return names{}, errors.New("the object is not protobuf")
		}
		return names{Name: object.Name, GenerateName: object.GenerateName}, nil
	default:
		return names{}, fmt.Errorf("an object must be created as JSON or protobuf, not as %.70q", kind)
	}
}
