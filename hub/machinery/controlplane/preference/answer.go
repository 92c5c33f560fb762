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

// keepUpTo is how long an answer may be that is looked at: the metadata of an object is shorter.
const keepUpTo = 512 << 10

// answer is one that may be cut. One goroutine writes it.
type answer struct {
	http.ResponseWriter

	// status is the status code of the header, 0 if it was not written; passing says that it and what follows go out as they are.
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

// Flush implements http.Flusher. What is sent bit by bit is no answer to a write.
func (a *answer) Flush() {
	a.pass()
	_ = http.NewResponseController(a.ResponseWriter).Flush() // whoever asks whether it can was told by the wrapper
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

// isMetadata says whether the answer is what may be cut, by its header.
func (a *answer) isMetadata() bool {
	header := a.Header()
	mediaType, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	return a.status == http.StatusOK && mediaType == runtime.ContentTypeProtobuf && header.Get("Content-Encoding") == ""
}

// pass sends what is kept, and has the rest sent as it comes.
func (a *answer) pass() {
	if a.passing {
		return
	}
	a.passing = true
	if a.status != 0 {
		a.ResponseWriter.WriteHeader(a.status)
	}
	if a.kept.Len() > 0 {
		_, _ = a.ResponseWriter.Write(a.kept.Bytes()) // what follows finds out that nobody reads
		a.kept = bytes.Buffer{}
	}
}

// finish sends what is kept, cut if it is the metadata of an object.
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

// serializer reads and writes metadata.
var serializer = func() *protobuf.Serializer { //nolint:gochecknoglobals // It is constant.
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	_ = metav1.AddMetaToScheme(scheme) // it fails if a type is there twice
	return protobuf.NewSerializer(scheme, scheme)
}()

// trimMetadata returns metadata of which the version is left, and nil if it is something else.
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
