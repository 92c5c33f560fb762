package preference

import (
	"bytes"
	"mime"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// keepUpTo is the maximum size of a response that is examined: metadata of an object is smaller.
const keepUpTo = 512 << 10

// answer is a response that may be trimmed. It is written by one goroutine.
type answer struct {
	http.ResponseWriter

	// status is the status code; 0 if it was not set. Passing says that it was sent, and that what follows is passed on
	// unchanged.
	status  int
	passing bool
	kept    bytes.Buffer
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	switch {
	case status < http.StatusOK || a.passing:
		a.ResponseWriter.WriteHeader(status)
	case a.status == 0:
		a.status = status
	}
}

// Flush implements http.Flusher. A response that is flushed is not one to a write.
func (a *answer) Flush() {
	a.pass()
	_ = http.NewResponseController(a.ResponseWriter).Flush() // the wrapper already tells callers whether flushing is supported
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if !a.passing && (!a.isMetadata() || a.kept.Len()+len(p) > keepUpTo) {
		a.pass()
	}
	if a.passing {
		return a.ResponseWriter.Write(p)
	}
	return a.kept.Write(p)
}

// isMetadata says whether the response may be metadata in protobuf, according to its header.
func (a *answer) isMetadata() bool {
	header := a.Header()
	mediaType, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	return a.status == http.StatusOK && mediaType == runtime.ContentTypeProtobuf && header.Get("Content-Encoding") == ""
}

// pass sends what is buffered, and passes on the rest directly.
func (a *answer) pass() {
	if a.passing {
		return
	}
	a.passing = true
	if a.status != 0 {
		a.ResponseWriter.WriteHeader(a.status)
	}
	if a.kept.Len() > 0 {
		_, _ = a.ResponseWriter.Write(a.kept.Bytes()) // the next write reports the error
		a.kept = bytes.Buffer{}
	}
}

// finish sends the buffered response, trimmed if it is metadata of an object.
func (a *answer) finish() {
	if a.passing || a.status == 0 {
		return
	}
	if short := trimMetadata(a.kept.Bytes()); short != nil {
		a.kept = *bytes.NewBuffer(short)
		a.Header().Set(appliedHeader, minimal)
		a.Header().Del("Content-Length")
	}
	a.pass()
}

// serializer decodes and encodes metadata.
var serializer = func() *protobuf.Serializer { //nolint:gochecknoglobals // It is constant.
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	_ = metav1.AddMetaToScheme(scheme) // fails only if a type is registered twice
	return protobuf.NewSerializer(scheme, scheme)
}()

// trimMetadata returns metadata reduced to its resource version; nil if the input is something else.
func trimMetadata(encoded []byte) []byte {
	object, _, err := serializer.Decode(encoded, &schema.GroupVersionKind{}, nil)
	if err != nil {
		return nil
	}
	whole, isMetadata := object.(*metav1.PartialObjectMetadata)
	if !isMetadata {
		return nil
	}
	short := &metav1.PartialObjectMetadata{TypeMeta: whole.TypeMeta}
	short.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
	short.UID, short.ResourceVersion, short.Generation = whole.UID, whole.ResourceVersion, whole.Generation
	var out bytes.Buffer
	if err := serializer.Encode(short, &out); err != nil {
		return nil
	}
	return out.Bytes()
}
