package depot

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// roleWait bounds the question for the role of an instance, which most machines have not.
const roleWait = 2 * time.Second

// bucket is a store in a bucket.
type bucket struct {
	client *minio.Client
	bucket string
	prefix string // of all names, without a slash at the end
}

// openBucket asks nothing yet.
func openBucket(at S3, name, prefix string) (*bucket, error) {
	endpoint, secure := "s3.amazonaws.com", true
	if at.Endpoint != "" {
		u, err := url.Parse(at.Endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
			return nil, fmt.Errorf("the endpoint is an http or https URL without a path, not %q", at.Endpoint)
		}
		endpoint, secure = u.Host, u.Scheme == "https"
	}
	client, err := minio.New(endpoint, &minio.Options{
		Secure: secure,
		Region: at.Region,
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.EnvMinio{}, &credentials.FileAWSCredentials{},
			&credentials.IAM{Client: &http.Client{Timeout: roleWait}},
		}),
	})
	if err != nil {
		return nil, err
	}
	return &bucket{client, name, prefix}, nil
}

func (b *bucket) list(ctx context.Context, prefix string) (list []object, err error) {
	at := path.Join(b.prefix, prefix) + "/"
	for o := range b.client.ListObjects(ctx, b.bucket, minio.ListObjectsOptions{Prefix: at, Recursive: true}) {
		if o.Err != nil {
			return nil, o.Err
		}
		name := strings.TrimPrefix(strings.TrimPrefix(o.Key, b.prefix), "/")
		list = append(list, object{name, o.Size})
	}
	return list, nil
}

func (b *bucket) get(ctx context.Context, name, file string) error {
	o, err := b.client.GetObject(ctx, b.bucket, path.Join(b.prefix, name), minio.GetObjectOptions{})
	if err != nil {
		return err
	}
	defer o.Close() // nothing was written
	if err = copyTo(ctx, file, o); minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return fmt.Errorf("%w: %w", ErrMissing, err)
	}
	return err
}

func (b *bucket) put(ctx context.Context, name, file string) error {
	_, err := b.client.FPutObject(ctx, b.bucket, path.Join(b.prefix, name), file, minio.PutObjectOptions{
		ContentType: "application/octet-stream",
	})
	return err
}

func (b *bucket) remove(ctx context.Context, name string) error {
	return b.client.RemoveObject(ctx, b.bucket, path.Join(b.prefix, name), minio.RemoveObjectOptions{})
}
