// BaseLayout has no Explore bar. "none": by default, Swagger UI sends the document's URL to a
// validator on the Internet.
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
