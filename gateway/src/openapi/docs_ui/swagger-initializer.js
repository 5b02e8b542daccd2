// BaseLayout has no Explore bar. The validator is "none", because Swagger UI would otherwise send the
// URL of the document to a validator on the Internet.
window.onload = () => {
  window.ui = SwaggerUIBundle({
    "url": "/openapi.json",
    "dom_id": "#swagger-ui",
    "layout": "BaseLayout",
    "deepLinking": true,
    "tryItOutEnabled": true,
    "validatorUrl": "none",
    "persistAuthorization": PERSIST_AUTHORIZATION,
    "presets": [SwaggerUIBundle.presets.apis],
    "plugins": [signIn]
  });
};
